"""The application: every route, with the models behind it and the checks around it.

`build` takes the served models and returns an ASGI application; `serving.py` runs it, tests call
it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.responses import Response

from elman.decoding.transforms import TRANSFORMS
from elman.insight import INSIGHTS
from elman.json_safe import json_safe
from elman.studio import errors, tokens
from elman.studio.batching import Batcher
from elman.studio.completion_request import CompletionRequest
from elman.studio.completions import complete, unless_gone
from elman.studio.embeddings import EmbeddingsRequest, embeddings
from elman.studio.errors import Refused
from elman.studio.jobs import Jobs
from elman.studio.limits import Limits
from elman.studio.metrics import MEDIA_TYPE, Metrics
from elman.studio.pages import add_pages, page_files, reference_page
from elman.studio.questions import (
    answering,
    describe_questions,
    every_question,
    make_schema,
    model_header,
)
from elman.studio.security import Access, Guard
from elman.studio.served import Served
from elman.studio.training_runs import TrainingRuns, rungs
from elman.version import __version__


class Studio:
    """The objects that routes share: models, their batchers, threads, limits."""

    def __init__(self, served: Served, limits: Limits, runs: TrainingRuns) -> None:
        self.served = served
        self.runs = runs
        self.limits = limits
        self.jobs = Jobs(limits)
        self.batchers = {
            model.id: Batcher(model.trained.model, limits, model.id)
            for model in served
            if "completions" in model.tasks
        }
        self.metrics = Metrics({name: batcher.meter for name, batcher in self.batchers.items()})

    def is_full(self, path: str) -> bool:
        """Whether any completion request would be refused now."""
        if path != "/v1/completions" or not self.batchers:
            return False
        return all(batcher.is_full for batcher in self.batchers.values())

    def cut(self) -> None:
        """End all running work with an error that gives the reason."""
        self.jobs.cut()
        for batcher in self.batchers.values():
            batcher.cut()

    def close(self) -> None:
        self.jobs.close()
        for batcher in self.batchers.values():
            batcher.close()

    def counts(self) -> dict[str, Any]:
        """How much work is running and waiting now."""
        models = {name: batcher.counts() for name, batcher in self.batchers.items()}
        return {**self.jobs.counts(), "models": models}


def build(
    served: Served,
    *,
    access: Access | None = None,
    limits: Limits | None = None,
    runs: Path | None = None,
) -> Guard:
    """Build the application behind its checks; `runs` is a folder of trainings to show."""
    studio = Studio(served, limits or Limits(), TrainingRuns.beside(runs, served))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        studio.close()

    app = FastAPI(
        title="elman",
        version=__version__,
        description="Recurrent language models, tried side by side.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses=errors.DESCRIBED,
        redirect_slashes=False,
    )
    errors.install(app)
    _add_models(app, studio)
    _add_chat(app)
    _add_tokens(app, studio)
    _add_runs(app, studio)
    _add_questions(app, studio)
    files = page_files()
    add_pages(app, files)
    access = access or Access()
    open_paths = frozenset({*files, "/docs", "/openapi.json", "/health"})
    guard = Guard(
        app,
        replace(access, open_paths=open_paths),
        studio.limits,
        metrics=studio.metrics,
        is_full=studio.is_full,
        cut=studio.cut,
    )
    _add_metrics(app, studio, guard)
    return guard


def _add_metrics(app: FastAPI, studio: Studio, guard: Guard) -> None:
    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Metrics in the text format of Prometheus."""
        rows = {name: batcher.counts() for name, batcher in studio.batchers.items()}
        jobs = studio.jobs.counts()["jobs"]
        text = studio.metrics.text(rows, jobs, guard.open_requests)
        return Response(text, media_type=MEDIA_TYPE)


def _add_models(app: FastAPI, studio: Studio) -> None:
    @app.head("/health", include_in_schema=False)
    @app.get("/health")
    async def health(request: Request) -> dict[str, Any]:
        """Report that the server is up. Requests with the token also get its current load."""
        details = studio.counts() if request.scope.get("knows_token") else {}
        return {"status": "ok", **details}

    @app.get("/v1/limits")
    async def limits() -> dict[str, Any]:
        """The limits of this server."""
        return asdict(studio.limits)

    @app.get("/v1/transforms")
    async def transforms() -> dict[str, Any]:
        """The transforms of the next-token distribution, with the fields that the page shows."""
        data = [transform.to_data(name) for name, transform in TRANSFORMS.items()]
        return {"object": "list", "data": data}

    @app.get("/v1/models")
    async def models() -> Response:
        """List the served models with their tasks."""
        data = [model.describe() for model in studio.served]
        return JSONResponse(json_safe({"object": "list", "data": data}))

    @app.get("/v1/models/{name}")
    async def model(name: str) -> Response:
        """Describe one model."""
        return JSONResponse(json_safe(studio.served.find(name).describe()))

    @app.post("/v1/completions")
    async def completions(request: Request, asked: CompletionRequest) -> Response:
        """Continue a prompt."""
        model = studio.served.find_for("completions", asked.model)
        return await complete(request, asked, model, studio.batchers[model.id], studio.limits)


def _add_chat(app: FastAPI) -> None:
    async def chat() -> Response:
        """Refuse chat requests and name the route to use instead."""
        raise Refused(
            404,
            "chat is not supported: these models continue text; POST /v1/completions with a prompt",
            code="unsupported_route",
        )

    for path in ("/v1/chat/completions", "/v1/responses"):
        app.post(path, include_in_schema=False)(chat)


def _add_runs(app: FastAPI, studio: Studio) -> None:
    @app.get("/v1/runs")
    def runs() -> Response:
        """List the trainings in the folder given with --runs."""
        data = [run.describe() for run in studio.runs.list()]
        return JSONResponse(json_safe({"object": "list", "data": data}))

    @app.get("/v1/runs/{name:path}")
    def run(name: str, since: Annotated[int, Query(ge=0)] = 0) -> Response:
        """The history of a training, starting at record `since`."""
        found = studio.runs.find(name)
        training, records = found.is_training, found.history()
        data = {
            "name": found.name,
            "training": training,
            "records": records[since:],
            "next": len(records),
        }
        return JSONResponse(json_safe(data))

    @app.get("/v1/ladder")
    def ladder() -> Response:
        """The served models and the trainings, in groups that can be compared."""
        return JSONResponse(json_safe({"groups": rungs(studio.served, studio.runs.list())}))

    @app.get("/v1/inspect")
    async def inspect_views(model: str | None = None) -> dict[str, Any]:
        """The views of neural models, or the views that work for one model."""
        if model is None:
            data = [{"id": name, "about": about} for name, about in INSIGHTS.abouts().items()]
            return {"object": "list", "data": data}
        served = studio.served.find_for("inspect", model)
        found = await studio.jobs.run(lambda job: served.views)
        return {"object": "list", "data": found}

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(reference_page(app.openapi()), media_type="text/html")


def _add_tokens(app: FastAPI, studio: Studio) -> None:
    @app.post("/tokenize")
    def tokenize(asked: tokens.TokenizeRequest) -> dict[str, Any]:
        """Convert a text to token ids."""
        return tokens.tokenize(
            studio.served.find_for("completions", asked.model), asked, studio.limits
        )

    @app.post("/detokenize")
    def detokenize(asked: tokens.DetokenizeRequest) -> dict[str, Any]:
        """Convert token ids to text."""
        return tokens.detokenize(
            studio.served.find_for("completions", asked.model), asked, studio.limits
        )

    @app.get("/tokenizer_info")
    async def tokenizer_info(model: str | None = None) -> dict[str, Any]:
        """Describe the tokenizer of a model."""
        return tokens.tokenizer_info(studio.served.find_for("completions", model), studio.limits)


def _add_questions(app: FastAPI, studio: Studio) -> None:
    questions = every_question()
    schemas = {name: make_schema(question) for name, question in questions.items()}
    for name, schema in schemas.items():
        _add_question(app, studio, name, schema, questions[name].about)

    @app.get("/v1/questions")
    async def describe() -> dict[str, Any]:
        """List every question with its JSON schema and the models that answer it."""
        data = describe_questions(questions, schemas, studio.served, studio.limits)
        return {"object": "list", "data": data}

    @app.post("/v1/embeddings")
    async def embed_texts(request: Request, asked: EmbeddingsRequest) -> Response:
        """Compute one vector per text, in the format of OpenAI."""
        model = studio.served.find_for("embeddings", asked.model)
        work = studio.jobs.run(lambda job: embeddings(model, asked, studio.limits, job))
        return JSONResponse(json_safe(await unless_gone(request, work)))


def _add_question(app: FastAPI, studio: Studio, name: str, schema: type, about: str) -> None:
    async def route(request: Request, asked: Any) -> Response:
        model = studio.served.find_for(name, asked.model)
        work = answering(model, model.questions[name], asked, studio.limits)
        data = await unless_gone(request, studio.jobs.run(work))
        return JSONResponse(data, headers=model_header(model))

    route.__annotations__["asked"] = schema
    route.__doc__ = about
    app.post(f"/v1/{name}", name=name)(route)
