# The server. Data lives in /data, the certificate that agents trust goes to /trust; build it with `ingest` or `demo` (see docker-compose.yml).
FROM python:3.11-slim
RUN useradd --create-home --uid 10001 webemu && mkdir /data /trust /state && chown webemu /data /trust /state
WORKDIR /app
COPY --chown=webemu . .
RUN pip install --no-cache-dir -c constraints.txt '.[server]'
USER webemu
WORKDIR /data
ENV WEBEMU_ROOT=/data PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8800 80 443 53/tcp 53/udp
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["python", "-c", "from urllib.request import ProxyHandler, build_opener; build_opener(ProxyHandler({})).open('http://127.0.0.1:8800/health', timeout=4)"]
ENTRYPOINT ["webemu"]
CMD ["serve", "--host", "0.0.0.0", "--root", "/data"]
