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
            let bytes = Array(UnsafeBufferPointer(start: argument, count: strlen(argument))).map {
                UInt8(bitPattern: $0)
            }
            for offset in secret(in: bytes, isValue: hidesNext) ?? 0..<0 { argument[offset] = CChar(UInt8(ascii: "x")) }
            hidesNext = !hidesNext && options.contains(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// The offsets of the secret in an argument; nil if it has none.
    ///
    /// - Parameter isValue: Whether the argument is the value of one of ``options``.
    static func secret(in argument: [UInt8], isValue: Bool) -> Range<Int>? {
        func isOption(_ bytes: ArraySlice<UInt8>) -> Bool { options.contains(String(decoding: bytes, as: UTF8.self)) }
        if isValue { return secret(from: 0, in: argument) }
        if let equals = argument.firstIndex(of: UInt8(ascii: "=")), isOption(argument[..<equals]) {
            return secret(from: equals + 1, in: argument)
        }
        if argument.count > 2, isOption(argument[..<2]) { return secret(from: 2, in: argument) }
        return passwordInURL(argument)
    }

    /// The password in `USER:PASSWORD`, else all of the value, except for the name of a file.
    private static func secret(from start: Int, in argument: [UInt8]) -> Range<Int> {
        let value = argument[start...]
        if let colon = value.firstIndex(of: UInt8(ascii: ":")) { return colon + 1..<argument.count }
        return (value.contains(UInt8(ascii: "@")) ? argument.count : start)..<argument.count
    }

    private static func passwordInURL(_ text: [UInt8]) -> Range<Int>? {
        guard let scheme = text.firstRange(of: "://".utf8) else { return nil }
        let authority = text[scheme.upperBound...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")),
            let colon = authority[..<at].firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return colon + 1..<at
    }
}
