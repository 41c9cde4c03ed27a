/// A WebSocket server in Python that returns each message, with compression and the subprotocol `echo` for clients that offer them.
/// Tornado also has three server-sent events at `/events`, numbered from `Last-Event-ID`.
///
/// ```swift
/// let server = WebSocketServer(.websockets)
/// try server.start()
/// server.url("/")     // ws://127.0.0.1:…/
/// ```
public final class WebSocketServer: Peer {
    /// The implementations, which share no code.
    public enum Implementation: String, Sendable, CaseIterable {
        /// python3-websockets.
        case websockets
        /// python3-tornado.
        case tornado

        /// Debian's Python: another Python in `PATH` lacks the package.
        public var program: Program { Program("python3", package: "python3-\(rawValue)", in: "/usr/bin") }
    }

    /// `python3`.
    public static let program = Implementation.websockets.program
    /// The process of the server.
    public let process: PeerProcess
    /// The implementation.
    public let implementation: Implementation

    /// Creates a server that is not started yet.
    public init(_ implementation: Implementation, in namespace: NetworkNamespace? = nil) {
        process = PeerProcess(in: namespace)
        self.implementation = implementation
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        try process.start(implementation.program, ports: 1) { scratch, ports throws(PeerError) in
            let script = try scratch.write("server.py", Self.script(implementation))
            return PeerProcess.Launch(
                arguments: ["-u", script, "\(ports[0])"], sockets: ListeningSocket.tcp(ports[0]))
        }
    }

    /// The URL of `path`, which must begin with a slash.
    public func url(_ path: String = "/") -> String { "ws://127.0.0.1:\(port)\(path)" }

    private static func script(_ implementation: Implementation) -> String {
        switch implementation {
        case .websockets:
            """
            import asyncio, sys, websockets
            async def echo(socket, path=None):
                async for message in socket:
                    await socket.send(message)
                print("CLOSED", socket.close_code, socket.close_reason, flush=True)
            # Since version 14, the client must offer one of the subprotocols unless a function chooses. Its arguments are the offers of client
            # and server; since then the connection and those of the client.
            def select(first, second):
                return "echo" if "echo" in (first if isinstance(first, (list, tuple)) else second) else None
            async def main():
                async with websockets.serve(
                        echo, "127.0.0.1", int(sys.argv[1]), max_size=32 << 20, subprotocols=["echo"],
                        select_subprotocol=select):
                    await asyncio.Future()
            asyncio.run(main())

            """
        case .tornado:
            """
            import sys, tornado.ioloop, tornado.web, tornado.websocket
            class Echo(tornado.websocket.WebSocketHandler):
                def get_compression_options(self):
                    return {}
                def select_subprotocol(self, offered):
                    return "echo" if "echo" in offered else None
                async def on_message(self, message):
                    await self.write_message(message, binary=isinstance(message, bytes))
                def on_close(self):
                    print("CLOSED", self.close_code, self.close_reason, flush=True)
            class Events(tornado.web.RequestHandler):
                async def get(self):
                    self.set_header("Content-Type", "text/event-stream")
                    last = int(self.request.headers.get("Last-Event-ID", "0"))
                    if last >= 6:
                        self.set_status(204)
                        self.clear_header("Content-Type")
                        return
                    self.write("retry: 100\\r\\n\\r\\n")
                    for number in range(last + 1, last + 4):
                        self.write(f"id: {number}\\r\\nevent: tick\\r\\n")
                        self.write(f"data: {{\\"number\\":\\r\\ndata: {number}}}\\r\\n\\r\\n")
                        await self.flush()
            application = tornado.web.Application(
                [("/events", Events), ("/.*", Echo)], websocket_max_message_size=32 << 20)
            application.listen(int(sys.argv[1]), "127.0.0.1")
            tornado.ioloop.IOLoop.current().start()

            """
        }
    }
}

/// A WebSocket client in Python. It sends texts, bytes, fragments and a ping to an echo, compares the answers, and closes the
/// connection with the code 1001.
public enum WebSocketClient {
    /// A run of the client, which prints `ok`, the subprotocol, and the number of messages.
    public static func command(
        _ implementation: WebSocketServer.Implementation, to url: String, isCompressed: Bool
    ) -> Command {
        Command(implementation.program, ["-c", script(implementation), url, isCompressed ? "deflate" : ""])
    }

    private static let messages = """
        import asyncio, os, sys
        url, compression = sys.argv[1:]
        sizes = [0, 1, 125, 126, 1000, 65535, 65536, 1 << 20]
        messages = ["\\u00b5" * (size // 2) for size in sizes] + [os.urandom(size) for size in sizes] + [b"a" * 5000] * 20

        """

    private static func script(_ implementation: WebSocketServer.Implementation) -> String {
        switch implementation {
        case .websockets:
            messages + """
                import websockets
                async def main():
                    async with websockets.connect(
                            url, compression=compression or None, max_size=None, subprotocols=["echo"]) as socket:
                        for message in messages:
                            await socket.send(message)
                            assert await socket.recv() == message
                        await socket.send(["frag", "ment", "ed \\u00b5"])
                        assert await socket.recv() == "fragmented \\u00b5"
                        await (await socket.ping())
                        await socket.close(1001, "bye")
                        assert socket.close_code == 1001, socket.close_code
                        # Since websockets 14, the protocol of the connection has them.
                        extensions = socket.extensions if hasattr(socket, "extensions") else socket.protocol.extensions
                        assert len(extensions) == (1 if compression else 0)
                        print("ok", socket.subprotocol, len(messages))
                asyncio.run(main())

                """
        case .tornado:
            messages + """
                import tornado.websocket
                async def main():
                    socket = await tornado.websocket.websocket_connect(
                        url, compression_options={} if compression else None, subprotocols=["echo"], max_message_size=32 << 20)
                    for message in messages:
                        await socket.write_message(message, binary=isinstance(message, bytes))
                        assert await socket.read_message() == message
                    subprotocol = socket.selected_subprotocol
                    socket.ping(b"ping")
                    socket.close(1001, "bye")
                    assert await socket.read_message() is None
                    assert socket.close_code == 1001, socket.close_code
                    print("ok", subprotocol, len(messages))
                asyncio.run(main())

                """
        }
    }
}
