import Foundation
import NetKit

/// What `--json` prints: one line, keys in alphabetical order.
///
/// Where a verb fails, its object has `error`: an object with `sentence`, and where the network failed `domain` and `code`.
enum JSONOutput {
    /// What is known about something, by name.
    typealias Facts = [String: any Sendable]

    /// An object or an array as one line.
    static func line(_ value: Any) -> ShownText {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        let data = (try? JSONSerialization.data(withJSONObject: value, options: options)) ?? Data("{}".utf8)
        return ShownText(json: String(decoding: data, as: UTF8.self))
    }

    /// Prints a line on standard output, at once.
    static func show(_ value: Any) {
        Terminal.write("\(line(value))\n", to: STDOUT_FILENO)
    }

    /// What failed.
    static func error(_ error: any Error) -> Facts {
        if let error = error as? ResolverError {
            let domain = StreamErrorDomain(rawValue: error.domain.rawValue)
            return ["sentence": "\(error)", "domain": domain.description, "code": error.number]
        }
        guard let error = error as? StreamError else { return ["sentence": "\(error)"] }
        return ["sentence": error.description, "domain": error.domain.description, "code": error.code]
    }

    /// A URL without user and password: what is printed may be kept.
    static func url(_ text: String) -> String {
        guard var parts = URLComponents(string: text), parts.user != nil || parts.password != nil else { return text }
        (parts.user, parts.password) = (nil, nil)
        return parts.string ?? ""
    }

    /// Every step of a connection, with seconds.
    static func steps(_ report: ConnectionReport) -> [Facts] {
        report.steps.map { step in
            var facts: Facts = [
                "step": step.kind.description, "start": step.start / .seconds(1), "outcome": step.outcome.description,
            ]
            facts["seconds"] = step.time.map { $0 / .seconds(1) }
            return facts
        }
    }
}
