import HTTP2

/// A request and its response between two machines that are connected in memory.
@main struct Consumer {
    static func main() throws {
        var client = HTTP2ClientMachine(now: .zero)
        var server = HTTP2ServerMachine(now: .zero)
        var seen: [String] = []

        var head = try HTTPRequest(method: .get, target: "/hello")
        try head.fields.set("example.org", for: .host)
        guard let stream = try client.request(HTTP2Request(head, scheme: "https"), endsHere: true, now: .zero) else {
            return
        }

        while client.outputCount > 0 || server.outputCount > 0 {
            let request = client.withOutput { $0.withUnsafeBytes { Array($0) } }
            client.didWrite(request.count)
            try server.receive(request.span.bytes, now: .zero)
            while let event = server.nextEvent() {
                guard case .request(let stream, let request) = event else { continue }
                seen.append(
                    "request \(request.head.method) \(request.head.target) for \(request.head.fields[.host] ?? "")")
                let response = try HTTPResponse(status: .ok, fields: ["Content-Type": "text/plain"])
                try server.respond(stream, with: response, endsHere: false, now: .zero)
                let body = Array("hello".utf8)
                _ = try server.send(body.span.bytes, on: stream, endsHere: true, now: .zero)
                server.close(stream, now: .zero)
            }
            let response = server.withOutput { $0.withUnsafeBytes { Array($0) } }
            server.didWrite(response.count)
            try client.receive(response.span.bytes, now: .zero)
            while let event = client.nextEvent() {
                guard case .response(stream, let response) = event else { continue }
                seen.append("response \(response.status) \(response.fields[.contentType] ?? "")")
            }
        }
        var body = [UInt8](repeating: 0, count: 100)
        var span = body.mutableSpan
        var memory = span.mutableBytes
        if case .bytes(let count) = try client.read(stream, into: &memory, now: .zero) {
            seen.append("\(count) bytes: \(String(decoding: body[..<count], as: UTF8.self))")
        }
        client.close(stream, now: .zero)
        print(seen.joined(separator: ", "))
    }
}
