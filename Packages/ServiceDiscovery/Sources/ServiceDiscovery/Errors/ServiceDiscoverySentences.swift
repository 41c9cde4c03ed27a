internal import EventLoops

/// The sentences that this package's errors print, so that a program can put them into its users' language.
///
/// ```swift
/// ServiceDiscoverySentences.replace([.collision: "Den Namen {name} gibt es schon"])
/// ```
///
/// `{name}` stands for what the error is about and `{detail}` for the words of the layer below; a clause in square
/// brackets is left out when the value in it is missing.
public enum ServiceDiscoverySentences {
    /// The English sentences.
    public static let english: [ServiceDiscoveryError.Code: String] = [
        .collision: "the name is taken by another service[: {name}]",
        .notFound: "there is no such service[: {name}]",
        .busy: "an operation is under way already[: {name}]",
        .invalidName: "not a valid service name[: {name}][ ({detail})]",
        .invalidType: "not a valid service type[: {name}][ ({detail})]",
        .invalidDomain: "not a valid domain[: {name}]",
        .invalidRecord: "not a valid TXT record[: {name}][ ({detail})]",
        .badArgument: "not a valid argument[: {name}][ ({detail})]",
        .cancelled: "the operation was cancelled[: {name}]",
        .invalidated: "the object was invalidated[: {name}]",
        .timedOut: "nothing answered in time[: {name}]",
        .unsupported: "this engine cannot do that[ for {name}][: {detail}]",
        .daemonUnavailable: "the discovery daemon is not running[: {detail}]",
        .daemonFailed: "the discovery daemon failed[ for {name}][: {detail}]",
        .tooMuch: "a limit of the discovery engine is reached[: {detail}]",
        .lookupFailed: "the DNS could not be asked[ for {name}][: {detail}]",
        .system: "the system refused[: {detail}]",
    ]

    private static let current = Locked(english)

    /// Puts other sentences in the place of those with the same code, for the whole process.
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

    /// The clause with its value put in; nil if there is none, or an empty one.
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

    /// A name may come from a stranger: no control characters reach a terminal or a log, and not more than 300 of them.
    private static func printable(_ text: String) -> String {
        String(
            text.unicodeScalars.prefix(300).map {
                $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) ? "?" : Character($0)
            })
    }
}
