import NetKit

// HTTP/2 has no minor version (RFC 9113) and no reason phrase (§8.3.2). The messages of the packages have both, as those of CFNetwork;
// the tool shows `HTTP/2`, as curl does.

extension HTTPVersion {
    /// The version as it is shown: `HTTP/1.1`, `HTTP/2`.
    var shown: String { self < .http20 ? description : "HTTP/\(major)" }
}

extension HTTPResponse {
    /// The first line of the head as curl prints it. Without a reason phrase, a space ends it (RFC 9112 §4).
    var firstLine: String { version < .http20 ? statusLine : "\(version.shown) \(status) " }

    /// The status in a sentence, with the phrase that explains it.
    var shownStatus: String { version < .http20 ? statusLine : "\(version.shown) \(status) \(reason)" }
}

extension ReadStream {
    /// The report, with the versions as they are shown.
    var shownReport: ConnectionReport {
        var report = report
        for index in report.steps.indices {
            guard case .request = report.steps[index].kind, case .succeeded(let text) = report.steps[index].outcome,
                text.utf8.starts(with: "\(HTTPVersion.http20) ".utf8)
            else { continue }
            let rest = text.utf8.dropFirst(HTTPVersion.http20.description.utf8.count)
            report.steps[index].outcome = .succeeded(HTTPVersion.http20.shown + String(Substring(rest)))
        }
        return report
    }
}
