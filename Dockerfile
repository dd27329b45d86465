# The server. Data lives in /data, the certificate that agents trust goes to /trust; build it with `ingest` or `demo` (see docker-compose.yml).
# The first stage has a compiler, for index/_reading.c: a wheel for any platform would be one without it.
FROM python:3.11 AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . && ! ls /wheels/*-none-any.whl

FROM python:3.11-slim
RUN useradd --create-home --uid 10001 webemu && mkdir /data /trust /state && chown webemu /data /trust /state
COPY --from=build /wheels /src/constraints.txt /wheels/
RUN pip install --no-cache-dir -c /wheels/constraints.txt "$(ls /wheels/*.whl)[server]" && python -c 'import webemu.index._reading'
USER webemu
WORKDIR /data
ENV WEBEMU_ROOT=/data PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8800 80 443 53/tcp 53/udp
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["python", "-c", "from urllib.request import ProxyHandler, build_opener; build_opener(ProxyHandler({})).open('http://127.0.0.1:8800/health', timeout=4)"]
ENTRYPOINT ["webemu"]
CMD ["serve", "--host", "0.0.0.0", "--open", "--root", "/data", "--wait"]
