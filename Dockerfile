FROM oven/bun:1.4.5 AS dependencies
WORKDIR /app
COPY package.json bun.lock ./
COPY patches ./patches
RUN bun install --frozen-lockfile --production

FROM oven/bun:1.4.5
# The service's user has a fixed number, so that a mounted secret can belong to it. It owns only DATA_DIR, which is used without
# DATABASE_URL. A named volume that is mounted there takes over its owner and mode.
RUN groupadd --system --gid 10001 directory \
  && useradd --system --uid 10001 --gid directory --no-create-home --shell /usr/sbin/nologin directory \
  && install --directory --owner=directory --group=directory --mode=700 /var/lib/company-directory
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json bun.lock tsconfig.json ./
COPY search-mappings ./search-mappings
COPY src ./src
USER directory
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/var/lib/company-directory
EXPOSE 3000
STOPSIGNAL SIGTERM
# Live, not ready: a restart while Postgres is down would not help.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["bun", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then((response) => process.exit(response.ok ? 0 : 1), () => process.exit(1))"]
CMD ["bun", "src/main.ts", "serve"]
