import ArgumentParser
import Foundation
@_spi(Packages) import NetKit

/// The format of `-w`: text with the facts of a transfer in the place of `%{name}`. The names are curl's.
struct WriteOut: Sendable {
    private enum Piece: Sendable {
        case text(String)
        case fact(Fact)
    }

    private enum Fact: String, CaseIterable, Sendable {
        case contentType = "content_type"
        case errorMessage = "errormsg"
        case exitCode = "exitcode"
        case fileName = "filename_effective"
        case httpCode = "http_code"
        case httpVersion = "http_version"
        case method
        case connects = "num_connects"
        case headers = "num_headers"
        case redirects = "num_redirects"
        case redirectURL = "redirect_url"
        case remoteIP = "remote_ip"
        case remotePort = "remote_port"
        case responseCode = "response_code"
        case scheme
        case sizeDownload = "size_download"
        case sizeUpload = "size_upload"
        case speedDownload = "speed_download"
        case timeAppConnect = "time_appconnect"
        case timeConnect = "time_connect"
        case timeLookup = "time_namelookup"
        case timeRedirect = "time_redirect"
        case timeStart = "time_starttransfer"
        case timeTotal = "time_total"
        case url
        case urlEffective = "url_effective"
    }

    /// The names of all facts, for the help.
    static let names = Fact.allCases.map(\.rawValue).joined(separator: ", ")

    private let pieces: [Piece]

    /// - Parameter format: the format, or `@FILE`.
    /// - Throws: `ValidationError` for an unknown name.
    init(_ format: String) throws {
        var rest = Substring(format)
        if format.hasPrefix("@") {
            let path = String(format.dropFirst())
            guard let contents = FileManager.default.contents(atPath: path) else {
                throw ValidationError("-w: \(path) cannot be read.")
            }
            rest = Substring(String(decoding: contents, as: UTF8.self))
        }
        var (pieces, text): ([Piece], String) = ([], "")
        while let character = rest.first {
            rest = rest.dropFirst()
            if character == "\\", let letter = rest.first,
                let meaning = ["n": "\n", "t": "\t", "r": "\r", "\\": "\\"][letter]
            {
                text += meaning
                rest = rest.dropFirst()
            } else if character == "%", rest.first == "%" {
                text += "%"
                rest = rest.dropFirst()
            } else if character == "%", rest.first == "{", let end = rest.firstIndex(of: "}") {
                let name = String(rest[rest.index(after: rest.startIndex)..<end])
                guard let fact = Fact(rawValue: name) else {
                    throw ValidationError("-w: '\(Terminal.shown(name))' is unknown; the names are \(Self.names).")
                }
                pieces += [.text(text), .fact(fact)]
                text = ""
                rest = rest[rest.index(after: end)...]
            } else {
                text.append(character)
            }
        }
        self.pieces = pieces + [.text(text)]
    }

    /// The text for a transfer.
    func text(_ transfer: HTTPTransfer.Result) -> ShownText {
        pieces.reduce("") { text, piece in
            switch piece {
            case .text(let part): text + ShownText(stringLiteral: part)
            case .fact(let fact): text + "\(Self.value(fact, transfer))"
            }
        }
    }

    private static func value(_ fact: Fact, _ transfer: HTTPTransfer.Result) -> String {
        let (outcome, report) = (transfer.outcome, transfer.report)
        let hop = report.hops.last
        switch fact {
        case .contentType: return outcome.response?.fields[.contentType] ?? ""
        case .errorMessage: return transfer.failure?.sentence ?? ""
        case .exitCode: return "\(transfer.failure?.status.rawValue ?? 0)"
        case .fileName: return outcome.path ?? ""
        case .httpCode, .responseCode:
            let code = "\(outcome.response?.status.code ?? 0)"
            return String(repeating: "0", count: max(0, 3 - code.count)) + code
        case .httpVersion: return outcome.response.map { $0.version.shown.replacing("HTTP/", with: "") } ?? "0"
        case .method: return hop?.method ?? ""
        case .connects:
            return "\(report.hops.count { $0.steps.contains { if case .connect = $0.kind { true } else { false } } })"
        case .headers: return "\(outcome.response?.fields.count ?? 0)"
        case .redirectURL:
            guard let location = outcome.response?.redirectReference, let base = hop.flatMap({ URL(string: $0.url) })
            else {
                return ""
            }
            return URL(string: location, relativeTo: base).map { JSONOutput.url($0.absoluteString) } ?? ""
        case .redirects: return "\(report.hops.filter { $0.cause == .redirect }.count)"
        case .remoteIP: return hop?.address?.ipAddress?.description ?? ""
        case .remotePort: return hop?.address?.port.map { "\($0)" } ?? "0"
        case .scheme: return URL(string: hop?.url ?? transfer.url)?.scheme ?? ""
        case .sizeDownload: return "\(outcome.count)"
        case .sizeUpload: return "\(outcome.stream?[.httpBodyBytesSent] ?? 0)"
        case .speedDownload:
            return String(Int64(Double(outcome.count) / max(0.000_001, outcome.time / .seconds(1))))
        case .timeLookup: return seconds(end(hop) { if case .lookup = $0 { true } else { false } })
        case .timeConnect: return seconds(end(hop) { if case .connect = $0 { true } else { false } })
        case .timeAppConnect: return seconds(end(hop) { if case .tls = $0 { true } else { false } })
        case .timeStart: return seconds(hop?.headEnd)
        case .timeRedirect:
            return seconds(report.hops.last { $0.cause == .redirect }?.start)
        case .timeTotal: return seconds(outcome.time)
        case .url: return JSONOutput.url(transfer.url)
        case .urlEffective: return hop?.url ?? JSONOutput.url(transfer.url)
        }
    }

    /// The end of the last step of a kind, relative to the start of the load; nil without such a step, as on a connection that
    /// was used before.
    private static func end(_ hop: LoadReport.Hop?, _ isIncluded: (ConnectionReport.Kind) -> Bool) -> Duration? {
        guard let hop else { return nil }
        return hop.steps.filter { isIncluded($0.kind) }.map { hop.start + $0.start + ($0.time ?? .zero) }.max()
    }

    private static func seconds(_ time: Duration?) -> String {
        String(format: "%.6f", max(0, (time ?? .zero) / .seconds(1)))
    }
}
