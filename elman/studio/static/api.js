/* The routes of the server (docs/api.md), one function each; only this file sends requests.

Every function takes and returns plain data, or throws an ApiError with the message of the server.
Routes are relative to this file, so they also work behind a proxy. An AbortSignal cancels a request;
the AbortError that follows is recognised by `overtaken`. If the server is busy (429), the request is
repeated a few times, after the time that the server names.
*/

const TIMES = 3; // repetitions if the server is busy
const LONGEST_WAIT = 5; // seconds

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export const overtaken = (error) => error.name === "AbortError";

export const models = async () => (await get("/v1/models")).data;
export const transforms = async () => (await get("/v1/transforms")).data;
export const limits = () => get("/v1/limits");
export const questions = async () => (await get("/v1/questions")).data;
export const askQuestion = (id, body, signal) => post(`/v1/${id}`, body, signal);
export const suggest = (body, signal) => post("/v1/suggest", body, signal);
export const surprisal = (body, signal) => post("/v1/surprisal", body, signal);
export const distribution = (body, signal) => post("/v1/distribution", body, signal);
export const score = (body, signal) => post("/v1/score", body, signal);
export const inspectViews = async (model) => (await get(`/v1/inspect?model=${encodeURIComponent(model)}`)).data;
export const inspect = (body, signal) => post("/v1/inspect", body, signal);
export const runs = async () => (await get("/v1/runs")).data;
export const run = (name, since) => get(`/v1/runs/${encodeURIComponent(name)}?since=${since}`);
export const ladder = async () => (await get("/v1/ladder")).groups;

/* Streams continuations: calls onEvent for every event until the last one. */
export async function complete(body, onEvent, signal) {
  const response = await ask("POST", "/v1/completions", { ...body, stream: true }, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (waiting + value).split("\n\n");
    waiting = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
      if (data === "[DONE]") return;
      if (!data) continue;
      const parsed = JSON.parse(data);
      if (parsed.error) throw new ApiError(parsed.error.message, null);
      onEvent(parsed);
    }
  }
}

/* Debounces `work`: waits until there are no calls for a while, and cancels earlier calls. */
export function latest(wait, work) {
  let timer = null;
  let running = new AbortController();
  const call = (...given) => {
    clearTimeout(timer);
    running.abort();
    running = new AbortController();
    const { signal } = running;
    timer = setTimeout(async () => {
      try {
        await work(signal, ...given);
      } catch (error) {
        if (!overtaken(error)) throw error;
      }
    }, wait);
  };
  call.cancel = () => { clearTimeout(timer); running.abort(); };
  return call;
}

const get = async (path) => (await ask("GET", path)).json();
const post = async (path, body, signal) => (await ask("POST", path, body, signal)).json();

async function ask(method, path, body = null, signal = undefined, times = TIMES) {
  const headers = { ...(body && { "Content-Type": "application/json" }), ...(token() && { Authorization: `Bearer ${token()}` }) };
  let response;
  try {
    response = await fetch(new URL(path.slice(1), import.meta.url), { method, headers, body: body && JSON.stringify(body), signal, credentials: "omit" });
  } catch (error) {
    if (overtaken(error)) throw error;
    throw new ApiError("The server does not answer. Is it still running?", null);
  }
  if (response.ok) return response;
  if (response.status === 429 && times > 0) {
    await pause(Math.min(Number(response.headers.get("Retry-After")) || 1, LONGEST_WAIT), signal);
    return ask(method, path, body, signal, times - 1);
  }
  const told = await response.json().catch(() => null);
  throw new ApiError(told?.error?.message ?? `The server answered ${response.status}.`, response.status);
}

function pause(seconds, signal) {
  return new Promise((go, stop) => {
    const timer = setTimeout(go, 1000 * seconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); stop(signal.reason); }, { once: true });
  });
}

/* A server that other machines can reach prints its address with a token: /#token=… */
function token() {
  const given = /^#token=(.+)$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem("token", decodeURIComponent(given[1]));
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem("token");
}
