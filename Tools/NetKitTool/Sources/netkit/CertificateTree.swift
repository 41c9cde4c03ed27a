import Foundation
import NetKit

/// The certificates of a TLS peer as a tree: the issuer last received at the top, and below it what it has issued.
///
/// ```
/// CN=Example Root  expires 2031-05-01
/// `- CN=www.example.org  expires 2026-12-01, in 8 days  www.example.org, example.org
/// ```
enum CertificateTree {
    private static let day: Int64 = 86_400
    private static let maximumNames = 4

    /// A line for the connection, and one for each certificate.
    ///
    /// - Parameter now: the time in seconds since 1970, which decides about validity.
    static func lines(_ tls: TLSInformation, _ style: TerminalStyle, now: Int64) -> [ShownText] {
        var lines: [ShownText] = ["\(tls.version), \(tls.cipher)\(tls.isResumed ? ", resumed" : "")"]
        for (depth, certificate) in tls.peerCertificates.reversed().enumerated() {
            let indent = String(repeating: "   ", count: max(0, depth - 1)) + (depth > 0 ? style.branch : "")
            let isLeaf = depth == tls.peerCertificates.count - 1
            let names = isLeaf ? self.names(certificate, style) : ""
            let issuer =
                depth > 0 ? "" : certificate.isSelfIssued ? "  self-signed" : "  issued by \(certificate.issuer)"
            lines.append(
                "\(indent)\(certificate.subject)  \(validity(certificate, style, now: now))\(issuer)\(names)")
        }
        return lines
    }

    private static func names(_ certificate: Certificate, _ style: TerminalStyle) -> String {
        let names = certificate.names.prefix(maximumNames).map { "\($0)" }
        if names.isEmpty { return "" }
        let more = certificate.names.count > maximumNames ? ", \(style.ellipsis)" : ""
        return "  " + names.joined(separator: ", ") + more
    }

    private static func validity(_ certificate: Certificate, _ style: TerminalStyle, now: Int64) -> ShownText {
        if certificate.notAfter < now { return style.paint("expired \(date(certificate.notAfter))", .red) }
        if certificate.notBefore > now { return style.paint("not valid before \(date(certificate.notBefore))", .red) }
        let days = (certificate.notAfter - now) / day
        let text: ShownText = "expires \(date(certificate.notAfter))"
        guard days < 30 else { return text }
        return style.paint("\(text), in \(days) \(days == 1 ? "day" : "days")", .yellow)
    }

    private static func date(_ seconds: Int64) -> String {
        let date = Date(timeIntervalSince1970: Double(seconds))
        return date.formatted(Date.ISO8601FormatStyle().year().month().day())
    }
}
