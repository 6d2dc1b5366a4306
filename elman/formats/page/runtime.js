// The door of the runtime: a session from the data of a model and its weights in base64.
const Elman = (() => {
  const KINDS = { int8: Int8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array };
  const decode = (base64) => {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
    const packed = atob(base64), out = new Uint8Array(packed.length);
    for (let i = 0; i < packed.length; i++) out[i] = packed.charCodeAt(i);
    return out;
  };
  const load = (data, base64) => {
    const { buffer } = decode(base64);
    const take = (kind, place, count) => new KINDS[kind](buffer, place, count);
    const constants = data.constants.map(({ kind, shape, place, scales }) => ({
      shape, isMatrix: shape.length === 2,
      data: take(kind, place, shape.reduce((a, b) => a * b, 1)),
      ...(scales === null ? {} : { scales: take("float32", scales, shape[0]) }),
    }));
    const begin = (data.model.begin || []).map((n) => ({ shape: constants[n].shape, data: constants[n].data }));
    const family = data.model.family === "ngram" ? NGram : Program;
    return {
      title: data.title, about: data.about,
      ...Session(family.model({ ...data.model, begin }, constants), Tokenizers.make(data.tokenizer)),
    };
  };
  return { load };
})();
