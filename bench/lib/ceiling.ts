/** What the load generator itself can do at most: a socket that answers whatever comes with the same bytes. */
const ANSWER = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"ok":true}',
);

Bun.listen({
  hostname: '127.0.0.1',
  port: Number(process.env.PORT),
  socket: {
    data(socket) {
      socket.write(ANSWER);
    },
  },
});
