@_spi(Packages) internal import HTTPStream

/// Decoding of percent-escapes (RFC 3986 §2.1), strictly: an incomplete escape and invalid UTF-8 are errors.
enum PercentCoding {
    /// Returns the decoded text, or nil.
    ///
    /// - Parameter plusIsSpace: whether `+` is a space, as in forms.
    static func decode(_ text: some Sequence<UInt8>, plusIsSpace: Bool = false) -> String? {
        let space = UInt8(ascii: plusIsSpace ? " " : "+")
        let bytes = PercentEscapes.decode(text.lazy.map { $0 == UInt8(ascii: "+") ? space : $0 })
        return bytes.flatMap { String(validating: $0, as: UTF8.self) }
    }
}
