import Foundation
import NetKit

/// The attribution of a failed connection to a proxy, which the error of the connection does not name.
enum ProxyFault {
    /// The error with the proxy named, if the last failure of a report is the lookup or the connection of a proxy; else the same.
    ///
    /// - Parameters:
    ///   - report: the steps of the transfer.
    ///   - url: the URL that was requested last.
    nonisolated(nonsending) static func attributed(
        _ error: StreamError, _ report: ConnectionReport, to url: URL, _ settings: ProxySettings
    ) async -> StreamError {
        guard let failed = report.steps.last(where: { if case .failed = $0.outcome { true } else { false } }),
            let routes = try? await settings.resolvedRoutes(for: url)
        else { return error }
        let names = report.steps.compactMap { if case .lookup(let name) = $0.kind { name } else { nil } }
        let proxy = routes.compactMap(\.hops.first).last { proxy in
            switch failed.kind {
            case .lookup(let name): name == proxy.host
            case .connect(let address):
                // The addresses of a name have its port.
                ShownEndpoint(proxy).text == "\(address)"
                    || (names.contains(proxy.host) && "\(address)".hasSuffix(":\(proxy.port)"))
            default: false
            }
        }
        guard let proxy else { return error }
        let name = ShownEndpoint(proxy).text
        let sentence =
            error.isPOSIX(ECONNREFUSED)
            ? Sentence("tool.proxyRefused", "The proxy %1 refused the connection: nothing is listening there.", name)
            : Sentence("tool.proxyUnreachable", "The proxy %1 cannot be used. %2", name, error.description)
        return StreamError(
            domain: error.domain, code: error.code, sentence: sentence, reason: error.reason,
            underlying: error.underlying)
    }
}

/// The `host:port` of a proxy; an IPv6 address in brackets.
private struct ShownEndpoint {
    let text: String

    init(_ proxy: any StreamProxy) {
        text = proxy.host.contains(":") ? "[\(proxy.host)]:\(proxy.port)" : "\(proxy.host):\(proxy.port)"
    }
}
