import Foundation
import NetKit

/// A ``LoadReport`` as an HTTP archive (HAR 1.2), which the developer tools of browsers open.
///
/// Bodies are not included, and the values of fields that may hold secrets are replaced.
enum HTTPArchive {
    /// The archive as JSON.
    static func json(_ report: LoadReport) -> ShownText {
        let creator: JSONOutput.Facts = [
            "name": "netkit", "version": PackageVersions.all.first { $0.0 == "NetKit" }?.1 ?? "",
        ]
        let entries = report.hops.enumerated().map { index, hop in
            entry(hop, of: report, bytes: index == report.hops.count - 1 ? report.bytes : nil)
        }
        let log: JSONOutput.Facts = [
            "version": "1.2", "creator": creator, "entries": entries, "pages": [JSONOutput.Facts](),
        ]
        return JSONOutput.line(["log": log])
    }

    private static func entry(_ hop: LoadReport.Hop, of report: LoadReport, bytes: Int64?) -> JSONOutput.Facts {
        let timings = timings(hop)
        let time = timings.filter { $0.key != "ssl" }.values.reduce(0) { $0 + max(0, $1) }
        var entry: JSONOutput.Facts = [
            "startedDateTime": date(report.began.addingTimeInterval(hop.start / .seconds(1))),
            "time": time, "request": request(hop), "cache": JSONOutput.Facts(),
            "response": response(hop, bytes: bytes), "timings": timings, "comment": hop.cause.rawValue,
        ]
        entry["serverIPAddress"] = hop.address.map(ipAddress)
        for case .stream(_, let connection, _) in hop.steps.map(\.kind) { entry["connection"] = "\(connection)" }
        return entry
    }

    private static func request(_ hop: LoadReport.Hop) -> JSONOutput.Facts {
        let items = URLComponents(string: hop.url)?.queryItems ?? []
        return [
            "method": hop.method, "url": hop.url, "httpVersion": hop.request?.version.shown ?? "HTTP/1.1",
            "cookies": [JSONOutput.Facts](), "headers": fields(hop.request?.fields),
            "queryString": items.map { ["name": $0.name, "value": $0.value ?? ""] }, "headersSize": -1, "bodySize": -1,
        ]
    }

    /// The response; status 0 if none arrived, as browsers write it.
    private static func response(_ hop: LoadReport.Hop, bytes: Int64?) -> JSONOutput.Facts {
        let response = hop.response
        return [
            "status": response?.status.code ?? 0, "statusText": response?.reason ?? "",
            "httpVersion": response?.version.shown ?? "", "cookies": [JSONOutput.Facts](),
            "headers": fields(response?.fields),
            "content": ["size": bytes ?? 0, "mimeType": response?.fields[.contentType] ?? ""] as JSONOutput.Facts,
            "redirectURL": response?.fields[.location].map(JSONOutput.url) ?? "", "headersSize": -1,
            "bodySize": bytes ?? -1,
        ]
    }

    private static func fields(_ fields: HTTPFields?) -> [JSONOutput.Facts] {
        (fields ?? HTTPFields()).map { field in
            let name = field.name.description
            return ["name": name, "value": LoadReport.shownValue(name, field.value)]
        }
    }

    /// The phases in milliseconds; -1 for one that did not take place. `connect` includes `ssl`, and the sum of the others is
    /// the time of the entry.
    static func timings(_ hop: LoadReport.Hop) -> [String: Double] {
        func span(_ isIncluded: (ConnectionReport.Kind) -> Bool) -> Double {
            let steps = hop.phases.filter { isIncluded($0.kind) }
            guard let start = steps.map(\.start).min() else { return -1 }
            return milliseconds(steps.map { $0.start + ($0.time ?? .zero) }.max().map { $0 - start } ?? .zero)
        }
        var timings = ["send": 0.0, "receive": milliseconds(hop.end - hop.headEnd)]
        timings["dns"] = span { if case .lookup = $0 { true } else { false } }
        timings["ssl"] = span { if case .tls = $0 { true } else { false } }
        timings["connect"] = span {
            switch $0 {
            case .connect, .proxy, .tls: true
            case .lookup, .stream, .request: false
            }
        }
        timings["wait"] = max(0, span { if case .request = $0 { true } else { false } })
        let known = ["dns", "connect", "send", "wait", "receive"].reduce(0) { $0 + max(0, timings[$1] ?? 0) }
        timings["blocked"] = max(0, milliseconds(hop.end - hop.start) - known)
        return timings
    }

    private static func milliseconds(_ time: Duration) -> Double {
        (max(0, time / .milliseconds(1)) * 1000).rounded() / 1000
    }

    private static func ipAddress(_ address: SocketAddress) -> String {
        let text = address.description
        let host = text.prefix(upTo: text.lastIndex(of: ":") ?? text.endIndex)
        return host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    }

    private static func date(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
