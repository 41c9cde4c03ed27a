internal import BenchmarkRows
internal import CMeasure
internal import NetKit
internal import StreamKit

/// 12j: serves 1 KiB over TLS and HTTP/2 to h2load.
let secureServing = Row("secure-serving") { arguments in
    var configuration = HTTPServer.Configuration()
    configuration.connections.tls = TLSConfiguration(
        server: try TLSIdentity(file: arguments.text("certificate"), keyFile: arguments.text("key")))
    let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
    guard let port = server.port else { stop("no port") }
    let body = [UInt8](repeating: 0, count: 1024)
    let serving = Task.detached { try await server.run { exchange in try await exchange.respond(.ok, body: body) } }
    defer { serving.cancel() }
    measure_begin()
    let count = arguments.number("count")
    measure_load(Int32(port), CLongLong(count), arguments.text("load-cpu"))
    measure_end(Double(count), 0)
}
