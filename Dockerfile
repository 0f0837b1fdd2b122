# The daemon's image: no compiler, no JVM, no root.
FROM python:3.12-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml README.md ./
COPY connectd connectd
COPY spark_jobs spark_jobs
RUN python -m venv /opt/connectd && /opt/connectd/bin/pip install --no-cache-dir '.[registry]'

FROM python:3.12-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home connectd
COPY --from=build /opt/connectd /opt/connectd
COPY config/worker.properties /etc/connectd/worker.properties
ENV PATH=/opt/connectd/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
EXPOSE 8083
HEALTHCHECK --interval=15s --timeout=12s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8083/health', timeout=11)"]
ENTRYPOINT ["connectd"]
CMD ["run", "/etc/connectd/worker.properties"]
