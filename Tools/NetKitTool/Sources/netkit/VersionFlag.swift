import ArgumentParser
import NetKit

/// The options for the version of HTTP, which are curl's.
enum VersionFlag: String, EnumerableFlag {
    case http1 = "http1.1"
    case automatic = "http2"
    case http2 = "http2-prior-knowledge"

    static func name(for flag: Self) -> NameSpecification { .customLong(flag.rawValue) }

    static func help(for flag: Self) -> ArgumentHelp? {
        switch flag {
        case .http1: "Use HTTP/1.1."
        case .automatic: "Use HTTP/2 for https URLs if the server supports it: the default."
        case .http2: "Use HTTP/2 alone, also for http URLs, whose servers must support it."
        }
    }

    /// The option as it is typed.
    var option: String { "--\(rawValue)" }

    /// The versions that a request may use.
    var versions: HTTPVersions {
        switch self {
        case .http1: .http1
        case .automatic: .automatic
        case .http2: .http2
        }
    }
}
