# One image for every process: `api`, `worker`, `gateway`, `migrate` are commands of it. Debian, for its packaged headless
# browser; the system's Python, as everywhere else.
FROM debian:bookworm-slim AS build
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
ARG UV_VERSION=0.13.7
RUN python3 -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir --quiet "uv==${UV_VERSION}"
ENV UV_PROJECT_ENVIRONMENT=/opt/quire UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_NO_CACHE=1
WORKDIR /build
# Dependencies first: they change less often than the code.
COPY pyproject.toml uv.lock README.md ./
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-install-project --python /usr/bin/python3
COPY src src
COPY config config
COPY migrations migrations
COPY templates templates
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-editable --python /usr/bin/python3

FROM debian:bookworm-slim
# Not pinned: a browser wants its security updates with every build.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates python3 util-linux chromium chromium-headless-shell libatomic1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --no-log-init --uid 10001 --user-group --home-dir /var/lib/quire --create-home \
        --shell /usr/sbin/nologin quire
COPY --from=build /opt/quire /opt/quire
ENV PATH=/opt/quire/bin:/usr/bin:/bin PYTHONUNBUFFERED=1 QUIRE_HOST=0.0.0.0 QUIRE_DATA_DIR=/var/lib/quire
USER 10001:10001
WORKDIR /var/lib/quire
EXPOSE 8700
ENTRYPOINT ["quire"]
CMD ["--help"]
