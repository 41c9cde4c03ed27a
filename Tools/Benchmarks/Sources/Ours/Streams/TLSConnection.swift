internal import BenchmarkRows
internal import StreamKit

/// A TLS connection to the web server on this machine, opening, and the GET to send on it.
struct TLSConnection {
    let pair: StreamPair
    let request: [UInt8]

    /// The certificate is for localhost; connecting to the address leaves name lookups to group 7.
    static func configuration(_ arguments: Arguments) -> TLSConfiguration {
        var configuration = TLSConfiguration()
        configuration.trust = .only(file: arguments.text("ca"))
        configuration.peerName = "localhost"
        return configuration
    }

    init(_ arguments: Arguments, _ configuration: TLSConfiguration) throws {
        guard let port = UInt16(exactly: arguments.number("port")) else { stop("port= is none") }
        pair = StreamPair(host: "127.0.0.1", port: port)
        try pair.set(.tls, to: configuration)
        let path = arguments.text("path")
        request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        try pair.open()
    }
}
