# The dashboard and its workers: one image, a user without rights, nothing written outside /data and /tmp. Torch's default
# build for Linux holds the CUDA libraries; for a smaller image without a GPU, name the index of its CPU wheels
# (docs/operate.md, "Without a GPU"): docker compose build --build-arg TORCH_INDEX=…
# Pinned by digest, as `docker buildx imagetools inspect python:3.12-slim` prints it: --build-arg PYTHON_IMAGE=python@sha256:…
ARG PYTHON_IMAGE=python:3.12-slim
FROM ${PYTHON_IMAGE}

# pg_dump and pg_restore, for backups: Debian's version 17, as compose.yaml's server.
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-client && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 1000 --create-home ragviz && install --directory --owner ragviz /data
WORKDIR /ragviz
ARG TORCH_INDEX=
COPY requirements.txt requirements.lock ./
RUN if [ -n "$TORCH_INDEX" ]; then pip install --no-cache-dir torch --constraint requirements.lock --index-url "$TORCH_INDEX"; fi
RUN pip install --no-cache-dir --requirement requirements.txt --constraint requirements.lock
COPY . .
RUN pip install --no-cache-dir --no-deps .

USER ragviz
ENV RAGVIZ_HOME=/data HF_HOME=/data/models
VOLUME /data
EXPOSE 8501
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health')"]
# All interfaces of the container: needs a sign-in (/data/secrets.toml), or RAGVIZ_NO_SIGN_IN=yes as in compose.yaml, which
# binds the port to 127.0.0.1 of the machine.
ENV STREAMLIT_SERVER_HEADLESS=true
CMD ["ragviz", "app", "--address", "0.0.0.0"]
