# syntax=docker/dockerfile:1

# Two stages: one that compiles, and a Debian 12 with the shared libraries that speechworker needs and nothing else.
# deploy/compose holds the test of this file's package lists.

FROM golang:1.26-bookworm AS build

# The same development packages as deploy/deps.sh, Postgres left out: recitald uses one that runs elsewhere.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      gcc libc6-dev pkg-config \
      libespeak-ng-dev flite1-dev \
      libavcodec-dev libavformat-dev libavutil-dev libswresample-dev \
 && rm -rf /var/lib/apt/lists/*

ENV GOCACHE=/go/build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download

COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/build \
    CGO_ENABLED=0 go build -trimpath -o /out/ ./cmd/recitald ./cmd/recitalctl ./cmd/japanesereader \
 && CGO_ENABLED=1 go build -trimpath -o /out/ ./cmd/speechworker ./cmd/neuralworker


FROM debian:bookworm-slim

# ca-certificates: TLS to event stores and databases whose certificates a public authority signed.
# espeak-ng-data: the voices. tini: recitald runs child processes, and the first process of a container has to reap
# those that lose their parent.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      ca-certificates tini \
      libespeak-ng1 espeak-ng-data libflite1 \
      libavcodec59 libavformat59 libavutil57 libswresample4 \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --system --gid 10001 recital \
 && useradd --system --uid 10001 --gid recital --home-dir /var/lib/recital --no-create-home --shell /usr/sbin/nologin recital \
 && install --directory --owner=recital --group=recital --mode=0711 /var/lib/recital

# speechworker, neuralworker and japanesereader have to lie beside recitald, which looks for them there.
COPY --from=build /out/ /usr/local/bin/
COPY LICENSE NOTICE /usr/share/doc/recital/

# A library that speechworker needs and the list above lacks ends the build here, not the first request.
RUN ! ldd /usr/local/bin/speechworker | grep "not found" \
 && speechworker codec </dev/null

# In mode prod recitald says at its start which settings it misses. The admin address stays on loopback: recitalctl runs
# inside the container (docker exec), and whoever wants metrics over the network sets RECITAL_ADMIN_ADDR.
ENV RECITAL_MODE=prod \
    RECITAL_HTTP_ADDR=0.0.0.0:8080 \
    RECITAL_ADMIN_ADDR=127.0.0.1:8081 \
    RECITAL_DATA_DIR=/var/lib/recital \
    RECITAL_LOG_FORMAT=json

# No VOLUME: in mode prod the data folder holds nothing that is missed: a lock, and replies in JSON that wait to be
# sent, up to RECITAL_SPOOL_BUDGET. Whoever mounts something there takes a disk and no tmpfs, which would be memory.
USER recital
WORKDIR /var/lib/recital
EXPOSE 8080

# Healthy means ready: the read models have caught up, engines run, Postgres answers, and no drain has begun. The image
# has no HTTP client, so bash asks.
HEALTHCHECK --interval=5s --timeout=3s --start-period=90s --retries=3 \
  CMD ["/bin/bash", "-c", "exec 3<>\"/dev/tcp/127.0.0.1/${RECITAL_HTTP_ADDR##*:}\" && printf 'GET /ready_check HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]

# SIGTERM makes recitald finish the replies under way, for 25 s at most: allow it more than that before SIGKILL
# (docker stop --time=60; stop_grace_period in docker-compose.yml).
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/local/bin/recitald"]
