internal import EventLoops

/// The messages of this package's errors. A program can replace them to translate them.
///
/// ```swift
/// ServiceDiscoverySentences.replace([.collision: "Den Namen {name} gibt es schon"])
/// ```
///
/// `{name}` stands for ``ServiceDiscoveryError/name`` and `{detail}` for ``ServiceDiscoveryError/detail``. A clause in
/// square brackets is omitted if the value in it is missing.
public enum ServiceDiscoverySentences {
    /// The English sentences.
    public static let english: [ServiceDiscoveryError.Code: String] = [
        .collision: "the name is taken by another service[: {name}]",
        .notFound: "no such service[: {name}]",
        .busy: "an operation is already under way[: {name}]",
        .invalidName: "not a valid service name[: {name}][ ({detail})]",
        .invalidType: "not a valid service type[: {name}][ ({detail})]",
        .invalidDomain: "not a valid domain[: {name}]",
        .invalidRecord: "not a valid TXT record[: {name}][ ({detail})]",
        .badArgument: "not a valid argument[: {name}][ ({detail})]",
        .cancelled: "the operation was cancelled[: {name}]",
        .invalidated: "the object was invalidated[: {name}]",
        .timedOut: "no answer in time[: {name}]",
        .unsupported: "the discovery engine does not support this[ for {name}][: {detail}]",
        .daemonUnavailable: "the discovery daemon is not running[: {detail}]",
        .daemonFailed: "the discovery daemon failed[ for {name}][: {detail}]",
        .tooMuch: "a limit of the discovery engine is reached[: {detail}]",
        .lookupFailed: "the DNS lookup failed[ for {name}][: {detail}]",
        .system: "a system call failed[: {detail}]",
    ]

    private static let current = Locked(english)

    /// Replaces the sentences of the given codes, for the whole process.
    public static func replace(_ sentences: [ServiceDiscoveryError.Code: String]) {
        current.withLock { $0.merge(sentences) { $1 } }
    }

    static func sentence(for error: ServiceDiscoveryError) -> String {
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

    /// The clause with its value inserted; nil if the error has no such value, or an empty one.
    private static func fill(_ clause: Substring, from error: ServiceDiscoveryError) -> String? {
        guard let open = clause.firstIndex(of: "{"), let close = clause[open...].firstIndex(of: "}") else {
            return String(clause)
        }
        let value =
            switch clause[clause.index(after: open)..<close] {
            case "name": error.name
            case "detail": error.detail
            default: nil as String?
            }
        return value.flatMap { $0.isEmpty ? nil : $0 }.map {
            clause[..<open] + printable($0) + clause[clause.index(after: close)...]
        }.map(String.init)
    }

    /// A safe form of a text that may come from the network: 300 characters at most, control characters replaced by `?`.
    private static func printable(_ text: String) -> String {
        String(
            text.unicodeScalars.prefix(300).map {
                $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) ? "?" : Character($0)
            })
    }
}
