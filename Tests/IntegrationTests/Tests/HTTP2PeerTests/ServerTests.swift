import EventLoops
import Foundation
import HTTPStream
import Peers
import StreamKit
import Testing

/// `HTTPServer` with the clients that people have.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ServerTests {
    /// Runs a server while `body` uses it.
    ///
    /// - Parameter body: gets the URL of the server without a path, and the file of the certificate that its clients must trust.
    private func serving(
        isSecure: Bool, _ handler: @escaping HTTPServer.Handler = answer,
        _ body: (_ url: String, _ root: String) async throws -> Void
    ) async throws {
        let authority = try CertificateAuthority.shared()
        var configuration = HTTPServer.Configuration()
        configuration.limits.bodyLength = 64 << 20
        if isSecure {
            let identity = authority.server(.good)
            configuration.connections.tls = TLSConfiguration(
                server: try TLSIdentity(file: identity.chain, keyFile: identity.key))
        } else {
            configuration.acceptsPriorKnowledge = true
        }
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let running = Task { try await server.run(handler) }
        defer { running.cancel() }
        try await body("\(isSecure ? "https" : "http")://localhost:\(try #require(server.port))", authority.root)
        server.stop(within: .seconds(5))
        try await running.value
    }

    /// Responds with the body of the request, or with as many bytes as the target says.
    @Sendable private static func answer(_ exchange: HTTPServerExchange) async throws {
        let target = exchange.request.target.path ?? ""
        if exchange.request.method == .post {
            var piece = try await exchange.readBody()
            try await exchange.begin(HTTPResponse(status: .ok))
            while !piece.isEmpty {
                try await exchange.write(piece)
                piece = try await exchange.readBody()
            }
            return try await exchange.finish(trailers: ["X-Sum": "known"])
        }
        let count = Int(target.split(separator: "/").last ?? "") ?? 0
        try await exchange.respond(.ok, body: [UInt8](repeating: UInt8(ascii: "x"), count: count))
    }

    @Test(arguments: [false, true]) func curl(isSecure: Bool) async throws {
        try await serving(isSecure: isSecure) { url, root in
            let body = patterned(1_000_000)
            let curl = { (arguments: String...) in
                let version = isSecure ? "--http2" : "--http2-prior-knowledge"
                return Command(
                    Program("curl"), ["-sS", "--max-time", "60", version, "--cacert", root] + arguments, input: body)
            }
            let small = try await curl("\(url)/5", "-w", " %{http_version}").run()
            #expect(small.text == "xxxxx 2")
            #expect(try await curl("\(url)/1000000").run().output.count == 1_000_000)
            let echoed = try await curl("\(url)/", "--data-binary", "@-").run().output == body
            #expect(echoed)
            // A client that waits for 100 (Continue), and several requests on one connection.
            let expected =
                try await curl("\(url)/", "-H", "Expect: 100-continue", "--data-binary", "@-").run().output == body
            #expect(expected)
            #expect(try await curl("-I", "\(url)/7").run().text.lowercased().contains("content-length: 7\r\n"))
            // curl 7.88 cannot do this with prior knowledge, not even with nghttpd.
            if isSecure {
                let many = try await curl(
                    "-Z", "\(url)/[1-50]", "-o", "/dev/null", "-w", "%{http_version} %{http_code}\\n"
                ).run()
                #expect(many.text == String(repeating: "2 200\n", count: 50))
            }
            let plain = try await Command(
                Program("curl"), ["-sS", "--http1.1", "--cacert", root, "\(url)/5", "-w", " %{http_version}"]
            ).run()
            #expect(plain.text == "xxxxx 1.1")
        }
    }

    @Test(arguments: [false, true]) func nghttpAndH2load(isSecure: Bool) async throws {
        try await serving(isSecure: isSecure) { url, _ in
            let nghttp = Program("nghttp", package: "nghttp2-client")
            let verbose = try await Command(nghttp, ["-v", "\(url)/5"]).run()
            #expect(verbose.text.contains(":status: 200") && verbose.text.contains("xxxxx"))
            let load = Program("h2load", package: "nghttp2-client")
            for (count, streams, size) in [(1000, 100, 20), (100, 100, 50_000)] {
                let result = try await Command(
                    load, ["-n", "\(count)", "-c", "4", "-m", "\(streams)", "\(url)/\(size)"]
                ).run()
                #expect(result.text.contains("\(count) succeeded, 0 failed, 0 errored"))
            }
        }
    }

    @Test("httpx: loads at once, a body both ways and a connection that is used again", arguments: [false, true])
    func httpx(isSecure: Bool) async throws {
        let script = """
            import asyncio, ssl, sys, httpx

            async def main(url, root):
                verify = ssl.create_default_context(cafile=root)
                async with httpx.AsyncClient(http1=False, http2=True, verify=verify, trust_env=False) as client:
                    loads = [client.get(f"{url}/{number * 100}") for number in range(50)]
                    responses = await asyncio.gather(*loads)
                    lengths = [len(response.content) for response in responses]
                    print({response.http_version for response in responses}, lengths == [n * 100 for n in range(50)])
                    body = bytes(range(256)) * 4000
                    print((await client.post(url + "/", content=body)).content == body)
                    print((await client.get(url + "/5", headers={"X-Empty": ""})).text)

            asyncio.run(main(*sys.argv[1:]))
            """
        try await serving(isSecure: isSecure) { url, root in
            let program = Program("python3", package: "python3-httpx", in: "/usr/bin")
            let result = try await Command(program, ["-c", script, url, root]).run()
            #expect(result.text == "{'HTTP/2'} True\nTrue\nxxxxx\n", "\(result.text)\(result.errors)")
        }
    }

    @Test("node: loads at once, a body both ways with trailers, a cancelled request", arguments: [false, true])
    func node(isSecure: Bool) async throws {
        let script = """
            const http2 = require("http2"), fs = require("fs")
            const [url, root] = process.argv.slice(1)
            const client = http2.connect(url, { ca: fs.readFileSync(root) })
            client.on("error", error => console.log("session", error.message))
            function load(fields, body) {
                return new Promise((resolve, reject) => {
                    const stream = client.request(fields, { endStream: body === undefined })
                    const pieces = []
                    let status, trailers
                    stream.on("response", fields => status = fields[":status"])
                    stream.on("trailers", fields => trailers = fields["x-sum"])
                    stream.on("data", piece => pieces.push(piece))
                    stream.on("end", () => resolve({ status, trailers, body: Buffer.concat(pieces) }))
                    stream.on("error", reject)
                    if (body !== undefined) stream.end(body)
                })
            }
            async function main() {
                const loads = Array.from({ length: 50 }, (_, number) => load({ ":path": `/${number * 100}` }))
                const lengths = (await Promise.all(loads)).map(result => result.body.length)
                console.log(lengths.every((length, number) => length === number * 100))
                const cancelled = client.request({ ":path": "/10000000" })
                cancelled.on("data", () => cancelled.close(http2.constants.NGHTTP2_CANCEL))
                await new Promise(resolve => cancelled.on("close", resolve))
                console.log("cancelled with", cancelled.rstCode)
                const body = Buffer.alloc(1000000, "node")
                const echo = await load({ ":path": "/", ":method": "POST" }, body)
                console.log(echo.status, echo.trailers, echo.body.equals(body))
                client.close()
            }
            main().catch(error => console.log(error))
            """
        try await serving(isSecure: isSecure) { url, root in
            let program = Program("node", package: "nodejs", in: "/usr/bin")
            let result = try await Command(program, ["-e", script, url, root]).run()
            #expect(result.text == "true\ncancelled with 8\n200 known true\n", "\(result.text)\(result.errors)")
        }
    }

    @Test("a proxy that puts the requests of its clients on connections of HTTP/2 to the server") func nghttpx()
        async throws
    {
        try await serving(isSecure: false) { url, root in
            let port = try #require(URL(string: url)?.port)
            let proxy = Nghttpx(port: port, isSecure: true)
            try proxy.start()
            defer { proxy.stop() }
            let session = try makeSession(isSecure: true)
            try await withThrowingTaskGroup { group in
                for number in 0..<60 {
                    group.addTask {
                        let response = try await session.get(
                            #require(URL(string: "https://localhost:\(proxy.port)/\(number * 100)")))
                        #expect(response.status == .ok && response.body.count == number * 100)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("a browser loads a page with 100 images over one connection") func browser() async throws {
        // A GIF of one pixel.
        let image: [UInt8] = [
            0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0x2C, 0, 0, 0, 0, 1,
            0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B,
        ]
        let page = """
            <!doctype html><title>images</title><body><script>
            let loaded = 0
            for (let number = 0; number < 100; number++) {
                const image = new Image()
                image.onload = () => loaded++
                image.src = `/image/${number}`
                document.body.append(image)
            }
            window.onload = () => {
                const entries = performance.getEntriesByType("resource")
                const versions = new Set(entries.map(entry => entry.nextHopProtocol))
                document.title = `${loaded} of ${entries.length} with ${[...versions]}`
            }
            </script>
            """
        let clients = Locked<[String]>([])
        try await serving(isSecure: true) { exchange in
            let isImage = exchange.request.target.path?.hasPrefix("/image/") == true
            if isImage {
                let address = exchange.remoteAddress.map { "\($0)" } ?? ""
                clients.withLock { $0.append("\(exchange.request.version) \(address)") }
            }
            try await exchange.respond(
                .ok, fields: ["Content-Type": isImage ? "image/gif" : "text/html"],
                body: isImage ? image : Array(page.utf8))
        } _: { url, _ in
            let profile = FileManager.default.temporaryDirectory.appending(path: "browser-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: profile) }
            let result = try await Command(
                Chromium.program,
                [
                    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server",
                    "--ignore-certificate-errors", "--user-data-dir=\(profile)", "--virtual-time-budget=60000",
                    "--dump-dom", "\(url)/",
                ]
            ).run()
            #expect(result.text.contains("<title>100 of 100 with h2</title>"), "\(result.text)\(result.errors)")
        }
        let seen = clients.withLock { $0 }
        #expect(seen.count == 100 && Set(seen).count == 1 && seen.first?.hasPrefix("HTTP/2.0 ") == true)
    }
}
