import Glibc
import StreamKit

/// The options of the command line.
struct Options {
    static let usage = """
        usage: serve [--port N] [--threads N] [--connections N] [--head SECONDS] [--idle SECONDS]
                     [--certificate FILE --key FILE] [--clients FILE]

        A small HTTP server on the loopback addresses: /, /bytes/N, /echo (POST, PUT), /whoami.
          --port N            the port; 0 (default) chooses a free port
          --threads N         the number of serving threads; default 1
          --connections N     the maximum number of connections; default 4096
          --head SECONDS      the time in which a new connection must send the head of a request; default 10
          --idle SECONDS      the time after which an idle connection is closed; default 60
          --certificate FILE  TLS: the certificate and those of its issuers (PEM), with
          --key FILE          the private key
          --clients FILE      request client certificates issued by these authorities (PEM)
        """

    var port: UInt16 = 0
    var threads = 1
    var connections = 4096
    var head = 10
    var idle = 60
    var certificate: String?
    var key: String?
    var clients: String?

    init(_ arguments: some Sequence<String>) throws {
        var rest = arguments.makeIterator()
        while let name = rest.next() {
            if name == "--help" || name == "-h" {
                print(Options.usage)
                exit(0)
            }
            guard let value = rest.next() else { throw UsageError(text: "\(name) requires a value\n\(Options.usage)") }
            func number<Number: FixedWidthInteger>(_ range: ClosedRange<Number>) throws -> Number {
                guard let number = Number(value), range ~= number else {
                    throw UsageError(text: "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
                }
                return number
            }
            switch name {
            case "--port": port = try number(0...UInt16.max)
            case "--threads": threads = try number(1...64)
            case "--connections": connections = try number(1...1_000_000)
            case "--head": head = try number(1...86_400)
            case "--idle": idle = try number(1...86_400)
            case "--certificate": certificate = value
            case "--key": key = value
            case "--clients": clients = value
            default: throw UsageError(text: "unknown option \(name)\n\(Options.usage)")
            }
        }
    }

    /// The TLS configuration; nil without a certificate.
    func tls() throws -> TLSConfiguration? {
        guard let certificate else { return nil }
        var tls = TLSConfiguration(server: try TLSIdentity(file: certificate, keyFile: key))
        if let clients {
            tls.trust = .only(file: clients)
            tls.clientAuthentication = .requested
        }
        return tls
    }

    private struct UsageError: Error, CustomStringConvertible {
        let text: String
        var description: String { text }
    }
}
