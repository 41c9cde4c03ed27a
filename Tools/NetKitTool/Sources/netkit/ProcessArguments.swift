import Foundation

/// The arguments of the process as other users see them, in `ps` and /proc.
enum ProcessArguments {
    /// The options whose values hold a secret.
    private static let options: Set<String> = [
        "-u", "--user", "--proxy-user", "--bearer", "--oauth2-bearer", "--pass", "-b", "--cookie",
    ]

    /// Overwrites passwords and tokens. They can be seen until this call.
    static func hideSecrets() {
        var hidesNext = false
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let text = String(cString: argument)
            if hidesNext {
                overwrite(argument, from: start(of: text))
            } else if let equals = text.firstIndex(of: "="), options.contains(String(text[..<equals])) {
                let value = text.index(after: equals)
                overwrite(argument, from: text[..<value].utf8.count + start(of: String(text[value...])))
            } else if let short = options.first(where: { $0.count == 2 && text.hasPrefix($0) && text.count > 2 }) {
                overwrite(argument, from: 2 + start(of: String(text.dropFirst(short.count))))
            } else if let range = secretInURL(text) {
                overwrite(argument, from: range.lowerBound, to: range.upperBound)
            }
            hidesNext = !hidesNext && options.contains(text)
        }
    }

    /// The offset of the secret in `USER:PASSWORD`; 0 if all of a value is secret.
    private static func start(of value: String) -> Int {
        value.firstIndex(of: ":").map { value[...$0].utf8.count } ?? (value.contains("@") ? value.utf8.count : 0)
    }

    /// The bytes of the password in a URL.
    private static func secretInURL(_ text: String) -> Range<Int>? {
        guard let scheme = text.range(of: "://"),
            let end = text[scheme.upperBound...].firstIndex(where: { "/?#".contains($0) })
                ?? Optional(text.endIndex), let at = text[scheme.upperBound..<end].lastIndex(of: "@"),
            let colon = text[scheme.upperBound..<at].firstIndex(of: ":")
        else { return nil }
        return text[...colon].utf8.count..<text[..<at].utf8.count
    }

    private static func overwrite(_ argument: UnsafeMutablePointer<CChar>, from start: Int, to end: Int? = nil) {
        let count = strlen(argument)
        for offset in min(start, count)..<min(end ?? count, count) { argument[offset] = CChar(UInt8(ascii: "x")) }
    }
}
