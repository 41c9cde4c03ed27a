/// An HTTP/1.1 server in this process that records every byte of its requests and takes its responses from a closure.
///
/// ```swift
/// let origin = try HTTPOrigin { request in
///     request.target == "/old" ? .init(301, fields: [.init("Location", "/new")]) : .init(body: "hello\n")
/// }
/// // fetch http://127.0.0.1:…, origin.url("/old")
/// #expect(origin.requests.map(\.target) == ["/old", "/new"])
/// ```
///
/// Connections are kept until the client closes them or either side sends `Connection: close`.
public final class HTTPOrigin: Sendable {
    /// A header field.
    public struct Field: Hashable, Sendable {
        /// The name, in its original case.
        public var name: String
        /// The value, without surrounding spaces.
        public var value: String

        /// Creates a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// A request.
    public struct Request: Hashable, Sendable {
        /// The method.
        public var method: String
        /// The request target as received.
        public var target: String
        /// The protocol version, such as `HTTP/1.1`.
        public var version: String
        /// The fields, in their original order.
        public var fields: [Field]
        /// The body, without chunked framing.
        public var body: [UInt8]
        /// The number of the connection; 0 for the first.
        public var connection: Int

        /// The values of all fields with this name, ignoring case.
        public subscript(name: String) -> [String] {
            fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        }
    }

    /// A response.
    public struct Response: Hashable, Sendable {
        /// The status.
        public var status: Int
        /// The fields. `Content-Length` is added unless these contain it or `Transfer-Encoding`.
        public var fields: [Field]
        /// The body, sent unchanged. Leave it empty in responses that cannot have one.
        public var body: [UInt8]

        /// Creates a response.
        public init(_ status: Int = 200, fields: [Field] = [], body: String = "") {
            self.status = status
            self.fields = fields
            self.body = Array(body.utf8)
        }
    }

    private let server: ScriptedServer
    private let log: Guarded<[Request]>

    /// Listens, and calls `respond` for every request.
    ///
    /// - Throws: ``PeerError/Code/noPort``.
    public init(isIPv6: Bool = false, respond: @escaping @Sendable (Request) -> Response) throws(PeerError) {
        let log = Guarded<[Request]>([])
        self.log = log
        server = try ScriptedServer(isIPv6: isIPv6) { connection throws(PeerError) in
            while let head = try? connection.readHead() {
                let request = try Self.request(head, connection)
                log.withLock { $0.append(request) }
                let response = respond(request)
                try connection.send(Self.bytes(response, isHead: request.method == "HEAD"))
                let options = request["Connection"] + response.fields.filter { $0.name == "Connection" }.map(\.value)
                if options.contains("close") || request.version == "HTTP/1.0" { break }
            }
        }
    }

    /// The port, on 127.0.0.1 or ::1.
    public var port: Int { server.port }

    /// The requests so far, in the order of completion.
    public var requests: [Request] { log.withLock { $0 } }

    /// The recordings of all connections, with their raw bytes.
    public var recordings: [Recording] { server.recordings }

    /// The URL of `path`, which must begin with a slash.
    public func url(_ path: String = "/", host: String = "127.0.0.1") -> String { "http://\(host):\(port)\(path)" }

    /// Stops listening and ends all connections. Safe to call twice.
    public func stop() {
        server.stop()
    }

    private static func request(_ head: String, _ connection: ScriptedConnection) throws(PeerError) -> Request {
        var lines = head.split(separator: "\r\n", omittingEmptySubsequences: true)[...]
        let words = (lines.popFirst() ?? "").split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 3 else { throw PeerError(.unexpected, "invalid request line: \(head.debugDescription)") }
        let fields = lines.map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            let value = line[colon...].dropFirst().drop { $0 == " " }
            return Field(String(line[..<colon]), String(value))
        }
        var request = Request(
            method: words[0], target: words[1], version: words[2], fields: fields, body: [],
            connection: connection.number)
        if request["Expect"].contains("100-continue") { try connection.send("HTTP/1.1 100 Continue\r\n\r\n") }
        if request["Transfer-Encoding"] == ["chunked"] {
            while true {
                let line = try connection.read(until: "\r\n").dropLast()
                guard let size = Int(line.prefix { $0 != ";" }, radix: 16) else {
                    throw PeerError(.unexpected, "invalid chunk size: \(line.debugDescription)")
                }
                if size == 0 { break }
                request.body += try connection.read(size)
                try connection.expect("\r\n")
            }
            while try connection.read(until: "\r\n") != "\r\n" {}
        } else if let length = request["Content-Length"].first.flatMap({ Int($0) }) {
            request.body = try connection.read(length)
        }
        return request
    }

    private static func bytes(_ response: Response, isHead: Bool) -> [UInt8] {
        var head = "HTTP/1.1 \(response.status) Scripted\r\n"
        let names = response.fields.map { $0.name.lowercased() }
        let hasNoBody = response.status < 200 || response.status == 204 || response.status == 304
        for field in response.fields { head += "\(field.name): \(field.value)\r\n" }
        if !hasNoBody && !names.contains("content-length") && !names.contains("transfer-encoding") {
            head += "Content-Length: \(response.body.count)\r\n"
        }
        return Array((head + "\r\n").utf8) + (isHead ? [] : response.body)
    }
}
