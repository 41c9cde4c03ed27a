/// The names that a peer may give to local files: those of a URL, of a `Content-Disposition`, of a folder on a server.
///
/// ```swift
/// LocalFileName.refusal(of: "report.pdf".utf8)        // nil
/// LocalFileName.refusal(of: "../.bashrc".utf8)        // .separator
/// LocalFileName.refusal(of: "-rf".utf8)               // .option
/// ```
///
/// A name that is refused is not repaired: the user chooses another one, or the file is skipped and reported.
@_spi(Packages) public enum LocalFileName {
    /// The reason why a name is not used.
    @nonexhaustive
    public enum Refusal: Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// The name is empty, or has only blanks.
        case empty
        /// The name is `.` or `..`, a folder.
        case folder
        /// The name contains `/`.
        case separator
        /// The name contains a control or format character, which could end a line, control a terminal, or reverse the order of the text;
        /// or a NUL, which ends names.
        case control
        /// The name begins with `.`: programs read some of these files on their own, such as `.bashrc`.
        case hidden
        /// The name begins with `-`: commands such as `rm *` would take it for an option.
        case option
        /// The name has more than ``LocalFileName/maximumLength`` bytes.
        case tooLong

        /// What is wrong with the name, as the end of a sentence.
        public var description: String {
            switch self {
            case .empty: "it is empty"
            case .folder: "it is the name of a folder"
            case .separator: "it contains a slash"
            case .control: "it contains a control character"
            case .hidden: "it begins with a dot"
            case .option: "it begins with a hyphen"
            case .tooLong: "it has more than \(LocalFileName.maximumLength) bytes"
            }
        }
    }

    /// The maximum length of a name in bytes. File systems permit 255; a suffix such as `.part` or a number may be added.
    public static let maximumLength = 240

    /// The reason why a name from a peer is not used for a local file; nil for a safe name.
    ///
    /// - Parameters:
    ///   - name: The bytes of the name. They need not be UTF-8, since the names of old servers are not; only the control characters of ASCII
    ///     are then recognised.
    ///   - permitsHidden: Whether the name may begin with `.`: within a folder that was made for the peer's files.
    public static func refusal(of name: some Collection<UInt8>, permitsHidden: Bool = false) -> Refusal? {
        if name.allSatisfy({ $0 == UInt8(ascii: " ") }) { return .empty }
        if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { return .folder }
        if name.contains(UInt8(ascii: "/")) { return .separator }
        if name.contains(where: { $0 < 0x20 || $0 == 0x7f }) { return .control }
        if let text = String(validating: name, as: UTF8.self), text.unicodeScalars.contains(where: isInvisible) {
            return .control
        }
        if name.count > maximumLength { return .tooLong }
        switch name.first {
        case UInt8(ascii: "-"): return .option
        case UInt8(ascii: ".") where !permitsHidden: return .hidden
        default: return nil
        }
    }

    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        // The joiners are part of Persian words and of composed emoji.
        if scalar == "\u{200c}" || scalar == "\u{200d}" { return false }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
