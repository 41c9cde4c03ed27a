internal import IPAddresses

/// The percent-escapes of URLs (RFC 3986 §2.1).
@_spi(Packages) public enum PercentEscapes {
    /// Returns the bytes of a text, with the byte that an escape encodes in place of it; nil if an escape is invalid.
    ///
    /// - Parameter isAllowed: Whether an escape may encode this byte.
    public static func decode(
        _ text: some Sequence<UInt8>, where isAllowed: (UInt8) -> Bool = { _ in true }
    ) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexadecimalDigit, let low = rest.popFirst()?.hexadecimalDigit,
                isAllowed(high << 4 | low)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}
