internal import EventLoops

/// The messages of this package's errors. A program can replace them to translate them.
///
/// ```swift
/// ResolverSentences.replace([.hostNotFound: "{name} gibt es nicht"])
/// ```
///
/// `{name}` stands for ``ResolverError/name`` and `{detail}` for ``ResolverError/detail``. A clause in square brackets
/// is omitted if the value in it is missing.
public enum ResolverSentences {
    /// The English sentences.
    public static let english: [ResolverError.Code: String] = [
        .hostNotFound: "no such host[: {name}]",
        .noData: "the name exists, but has no record of the requested type[: {name}]",
        .temporaryFailure: "no usable answer from the name servers[ for {name}][ ({detail})]",
        .serverFailed: "the name servers failed[ to resolve {name}][: {detail}]",
        .noServers: "no name server is configured[ to look up {name}]",
        .timedOut: "the lookup timed out[: {name}]",
        .cancelled: "the lookup was cancelled[: {name}]",
        .invalidName: "not a valid host name[: {name}][ ({detail})]",
        .internationalNamesUnavailable:
            "host names with non-ASCII letters require libidn2, which is not installed[: {name}]",
        .invalidAddress: "not a valid address[: {name}]",
        .malformedAnswer: "malformed DNS message[ for {name}][: {detail}]",
        .busy: "the lookup cannot start now[: {detail}]",
        .system: "a system call failed[ for {name}][: {detail}]",
    ]

    private static let current = Locked(english)

    /// Replaces the sentences of the given codes, for the whole process.
    public static func replace(_ sentences: [ResolverError.Code: String]) {
        current.withLock { $0.merge(sentences) { $1 } }
    }

    static func sentence(for error: ResolverError) -> String {
        let template = current.withLock { $0[error.code] } ?? "\(error.code.rawValue)[: {name}][: {detail}]"
        var text = ""
        var rest = Substring(template)
        while let open = rest.firstIndex(of: "["), let close = rest[open...].firstIndex(of: "]") {
            text += rest[..<open]
            text += fill(rest[rest.index(after: open)..<close], from: error) ?? ""
            rest = rest[rest.index(after: close)...]
        }
        text += rest
        return text
    }

    /// The clause with its value inserted; nil if the error has no such value.
    private static func fill(_ clause: Substring, from error: ResolverError) -> String? {
        guard let open = clause.firstIndex(of: "{"), let close = clause[open...].firstIndex(of: "}") else {
            return String(clause)
        }
        let value =
            switch clause[clause.index(after: open)..<close] {
            case "name": error.name
            case "detail": error.detail
            default: nil as String?
            }
        return value.map { clause[..<open] + printable($0) + clause[clause.index(after: close)...] }.map(String.init)
    }

    /// A text that may come from the network, made safe to print: at most 300 characters, with control characters
    /// replaced by `?`. A name then cannot manipulate a terminal or flood a log.
    private static func printable(_ text: String) -> String {
        String(
            text.unicodeScalars.prefix(300).map {
                $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) ? "?" : Character($0)
            })
    }
}
