# Two images: the worker (default), and with --target spark the worker with Spark and a Java, which is
# also the image of executors. No compiler and no root in either, and no pip but the base image's own:
# what is compiled is compiled in an image of the same Python that has a compiler, and is left behind.
#
# Base images are pinned by exact tags. To pin bytes: --build-arg PYTHON_IMAGE=python@sha256:...
# PYTHON_IMAGE and BUILD_IMAGE have the same Python, to the patch release.
# Python packages are pinned with hashes by config/locks/*.txt.
ARG PYTHON_IMAGE=python:3.12.12-slim-bookworm
ARG BUILD_IMAGE=python:3.12.12-bookworm
ARG JRE_IMAGE=eclipse-temurin:17.0.16_8-jre-jammy

FROM ${BUILD_IMAGE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY config/locks config/locks
RUN python -m venv /opt/build \
 && /opt/build/bin/pip install --no-compile \
      --require-hashes --only-binary :all: -r config/locks/build.txt
RUN python -m venv --without-pip /opt/connectd \
 && /opt/build/bin/pip --python /opt/connectd/bin/python install \
      --require-hashes --only-binary :all: -r config/locks/worker.txt
COPY pyproject.toml hatch_build.py README.md ./
COPY connectd connectd
COPY spark_jobs spark_jobs
RUN /opt/build/bin/pip wheel --no-build-isolation --no-deps --wheel-dir /wheels . \
 && /opt/build/bin/pip --python /opt/connectd/bin/python install --no-index --no-deps /wheels/*.whl
RUN /opt/build/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
      --output-file /opt/connectd/sbom.cdx.json /opt/connectd/bin/python

# PySpark comes as source: its wheel is made here, of the same locked versions.
FROM build AS build-spark
RUN /opt/build/bin/pip wheel --no-build-isolation --no-deps --require-hashes \
      --wheel-dir /wheels-spark -r config/locks/spark.txt \
 && /opt/build/bin/pip --python /opt/connectd/bin/python install \
      --no-index --no-deps /wheels-spark/*.whl
RUN /opt/build/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
      --output-file /opt/connectd/sbom.cdx.json /opt/connectd/bin/python

FROM ${JRE_IMAGE} AS jre

FROM ${PYTHON_IMAGE} AS runtime
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="connectd" \
      org.opencontainers.image.description="A Kafka Connect worker that copies DynamoDB tables into Kafka" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# A JVM wants a name for its user.
RUN echo 'connectd:x:10001:10001::/tmp:/usr/sbin/nologin' >> /etc/passwd \
 && echo 'connectd:x:10001:' >> /etc/group
COPY config/worker.properties /etc/connectd/worker.properties
# The file is for one machine; in a container nobody could reach its REST API.
RUN sed -i 's|^listeners=.*|listeners=http://:8083|' /etc/connectd/worker.properties
ENV PATH=/opt/connectd/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
EXPOSE 8083
HEALTHCHECK --interval=15s --timeout=12s --start-period=60s --retries=3 CMD ["connectd", "health"]

FROM runtime AS spark
COPY --from=jre /opt/java/openjdk /opt/java/openjdk
COPY --from=build-spark /opt/connectd /opt/connectd
ENV JAVA_HOME=/opt/java/openjdk PYSPARK_PYTHON=/opt/connectd/bin/python
# Where executors unpack what a job brings along.
RUN mkdir -p /opt/spark/work-dir && chmod 1777 /opt/spark/work-dir
WORKDIR /opt/spark/work-dir
USER 10001:10001
ENTRYPOINT ["python", "-m", "spark_jobs.entrypoint"]
CMD ["run", "/etc/connectd/worker.properties"]

FROM runtime AS worker
COPY --from=build /opt/connectd /opt/connectd
USER 10001:10001
ENTRYPOINT ["connectd"]
CMD ["run", "/etc/connectd/worker.properties"]
