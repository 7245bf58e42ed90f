"""Turns the policy files into the engine's policies, and checks what ties them together."""

from __future__ import annotations

from pathlib import Path

from quire.jobs.domain.breaker import BreakerPolicy
from quire.jobs.domain.policies import Policies, RetentionPolicy
from quire.jobs.domain.queue import KindPolicy, QueuePolicies, QueuePolicy
from quire.jobs.domain.retry import Backoff, RetryPolicies, RetryRule
from quire.jobs.domain.throttle import IntegrationPolicy
from quire.jobs.infrastructure.yaml import policy_schema as schema
from quire.jobs.infrastructure.yaml.located_file import LocatedFile, open_located, read_located

SOFT_MARGIN_SECONDS = 5.0


def load_policies(config_dir: Path) -> Policies:
    """Raises PolicyFileError (CONFIG_INVALID) that names file and line."""
    queues_file = open_located(config_dir / "queues.yaml", schema.QueuesFile)
    retries = read_located(config_dir / "retries.yaml", schema.RetriesFile)
    throttling = read_located(config_dir / "throttling.yaml", schema.ThrottlingFile)
    _check_references(queues_file, throttling)
    queues = queues_file.content
    return Policies(
        queues=QueuePolicies(
            queues={name: _queue(name, item) for name, item in queues.queues.items()},
            kinds={name: _kind(name, item) for name, item in queues.kinds.items()},
            size_limits_bytes={str(name): size for name, size in queues.size_limits_bytes.items()},
        ),
        retries=RetryPolicies(
            rules=_rules(retries), max_crashes=retries.max_crashes, dead_letter_days=retries.dead_letter_days
        ),
        integrations={name: _integration(name, item) for name, item in throttling.integrations.items()},
        retention=RetentionPolicy(queues.retention.event_days, queues.retention.job_days),
    )


def _check_references(file: LocatedFile[schema.QueuesFile], throttling: schema.ThrottlingFile) -> None:
    queues = file.content.queues
    if "default" not in queues:
        raise file.refusal(["queues"], "a queue named default is needed")
    for name, queue in queues.items():
        if queue.integration is not None and queue.integration not in throttling.integrations:
            raise file.refusal(
                ["queues", name, "integration"], f"{queue.integration} is not in throttling.yaml"
            )
        if queue.soft_limit_seconds is not None and queue.soft_limit_seconds > queue.hard_limit_seconds:
            raise file.refusal(
                ["queues", name, "soft_limit_seconds"], "the soft limit is after the hard limit"
            )
    for kind, item in file.content.kinds.items():
        if (item.queue is None) == (not item.queues):
            raise file.refusal(["kinds", kind], "give queue or queues, one of them")
        key = "queues" if item.queues else "queue"
        for wanted in _queues_of(item):
            if wanted not in queues:
                raise file.refusal(["kinds", kind, key], f"there is no queue {wanted}")


def _queue(name: str, item: schema.Queue) -> QueuePolicy:
    soft = item.soft_limit_seconds
    if soft is None:
        soft = max(item.hard_limit_seconds - SOFT_MARGIN_SECONDS, item.hard_limit_seconds / 2)
    return QueuePolicy(
        name=name,
        size_class=item.size_class,
        hard_limit_seconds=item.hard_limit_seconds,
        soft_limit_seconds=soft,
        integration=item.integration,
        fair_tenants=item.fair == "tenants",
        tenant_queued_max=item.tenant_quota.queued,
        tenant_running_max=item.tenant_quota.running,
    )


def _kind(name: str, item: schema.Kind) -> KindPolicy:
    values = item.model_dump(exclude={"queue", "queues", "size_classes"})
    return KindPolicy(name, _queues_of(item), tuple(item.size_classes), **values)


def _queues_of(item: schema.Kind) -> tuple[str, ...]:
    return tuple(item.queues) or ((item.queue,) if item.queue else ())


def _rules(file: schema.RetriesFile) -> tuple[tuple[str, tuple[RetryRule, ...]], ...]:
    """Exact names before patterns, longer patterns before shorter ones."""
    order = sorted(file.kinds, key=lambda pattern: ("*" in pattern, -len(pattern)))
    return tuple((pattern, tuple(_rule(rule) for rule in file.kinds[pattern])) for pattern in order)


def _rule(rule: schema.Rule) -> RetryRule:
    backoff = Backoff(rule.base_seconds, rule.factor, rule.cap_seconds, rule.jitter, rule.jitter_seconds)
    return RetryRule(frozenset(rule.codes), rule.attempts, backoff, rule.size_class)


def _integration(name: str, item: schema.Integration) -> IntegrationPolicy:
    breaker = None
    if item.breaker is not None:
        values = item.breaker.model_dump()
        breaker = BreakerPolicy(**{**values, "failure_codes": frozenset(values["failure_codes"])})
    return IntegrationPolicy(name, item.rate_per_second, item.burst, item.max_concurrency, breaker)
