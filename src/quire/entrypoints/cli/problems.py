"""`quire problems list|show|decide`, over the HTTP API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.text import Text

from quire.entrypoints.api_client import ApiClient
from quire.entrypoints.cli.listing import AsJson, say_more, show_json
from quire.entrypoints.cli.moments import ago, between
from quire.entrypoints.cli.roster import Roster
from quire.entrypoints.cli.sheet import facts, put
from quire.entrypoints.cli.with_api import with_api

app = typer.Typer(help="Dead letters that need a person.", no_args_is_help=True)

Problem = dict[str, Any]
Code = Annotated[str | None, typer.Option("--code", help="Only this error code.")]
CONVERSION = "convert.xml"
# Room for a code in a message.
MESSAGE_MIN = 18
Queue = Annotated[str | None, typer.Option(help="Only this queue.")]


@app.command("list")
@with_api
def list_problems(
    api: ApiClient,
    code: Code = None,
    queue: Queue = None,
    tenant: Annotated[str | None, typer.Option(help="With platform scope: only this tenant.")] = None,
    decided: Annotated[bool, typer.Option("--decided", help="Also those already decided.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000)] = 30,
    as_json: AsJson = False,
) -> None:
    """List open problems, newest first."""
    problems, more = api.items(
        "/problems", limit, error_code=code, queue=queue, tenant=tenant, decided=decided or None
    )
    if as_json:
        show_json(problems)
        return
    _show_all(problems)
    if more:
        say_more(len(problems))


@app.command("show")
@with_api
def show(
    api: ApiClient,
    problem_id: Annotated[UUID, typer.Argument(help="Id of the problem.")],
    as_json: AsJson = False,
) -> None:
    """Show a problem with what is recommended."""
    problem = api.get(f"/problems/{problem_id}")
    show_json(problem) if as_json else _show_one(problem)


@app.command("decide")
@with_api
def decide(
    api: ApiClient,
    decision: Annotated[str, typer.Argument(help="retry, discard, or one that the kind brings.")],
    problem_ids: Annotated[list[UUID] | None, typer.Argument(help="Ids of problems.")] = None,
    code: Code = None,
    queue: Queue = None,
    as_json: AsJson = False,
) -> None:
    """Decide problems by id, or all open ones with a code or in a queue. Exits with 1 when one was refused."""
    results = _decide(api, decision, problem_ids or [], code, queue)
    if as_json:
        show_json(results)
    elif not results:
        typer.echo("no open problem matches; quire problems list shows their codes", err=True)
    else:
        for item in results:
            typer.echo(
                f"{item['id']} {decision if item['ok'] else item['error_code'] + ': ' + item['detail']}"
            )
    if not all(item["ok"] for item in results):
        raise typer.Exit(1)


def _decide(
    api: ApiClient, decision: str, ids: Sequence[UUID], code: str | None, queue: str | None
) -> list[dict[str, Any]]:
    chosen = {name: value for name, value in (("error_code", code), ("queue", queue)) if value}
    if bool(ids) == bool(chosen):
        raise typer.BadParameter("give ids, or --code and --queue, one of them")
    body = {"decision": decision} | ({"ids": [str(item) for item in ids]} if ids else {"filter": chosen})
    results: list[dict[str, Any]] = []
    while True:
        answer = api.post("/problems/decide", body)
        results += answer["results"]
        # Refused ones stay open and would come again and again.
        if not answer["more"] or not any(item["ok"] for item in answer["results"]):
            return results


def _show_all(problems: Sequence[Problem]) -> None:
    table = Roster(
        *("id", "error", "age", "decided", "kind", "tries", "message", "advice"),
        right=("age", "tries"),
        spare=("advice", "tries", "kind", "age", "message"),
        cut=("error", "kind", "message", "advice"),
        least={"message": MESSAGE_MIN},
    )
    for problem in problems:
        table.add_row(
            problem["id"],
            Text(problem["error_code"], style="bold red" if not problem["user_decision"] else "dim"),
            between(problem["created_at"], None),
            problem["user_decision"] or "",
            problem["task_type"],
            str(problem["attempts"]),
            _in_short(problem),
            problem["recommendation"],
        )
    put(table if problems else Text("No open problems.", style="green"))


def _in_short(problem: Problem) -> str:
    """What tells one problem from the next comes first: of a gateway's answer its own code, if it gave one."""
    message = str(problem["message"])
    if problem["task_type"] != CONVERSION:
        return message
    # Here, since it would hold up every list without a conversion.
    from quire.convert.domain.gateway_code import ANSWER

    answer = ANSWER.match(message)
    return f"{answer[1]}{message[answer.end() :]}" if answer else message


def _show_one(problem: Problem) -> None:
    head = Text.assemble((problem["id"], "bold"), "  ", (problem["error_code"], "bold red"))
    put(head, "", facts(_facts(problem)))


def _facts(problem: Problem) -> list[tuple[str, str]]:
    decided = problem["user_decision"] and f"{problem['user_decision']} by {problem['decided_by']}"
    found = [
        ("message", problem["message"]),
        ("advice", problem["recommendation"]),
        ("job", f"{problem['job_id']} ({problem['task_type']}, queue {problem['queue']})"),
        ("tries", str(problem["attempts"])),
        ("since", ago(problem["created_at"])),
        ("ref", problem["external_ref"]),
        ("document", problem["document_id"]),
        ("trace", problem["trace_id"]),
        ("decided", decided),
        ("decide", " | ".join(problem["decisions"])),
    ]
    return [(label, value) for label, value in found if value]
