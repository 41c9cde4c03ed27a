public import DNSWire
@_spi(Packages) internal import EventLoops
internal import Glibc

/// A validated host name, with the ASCII form that resolvers use.
///
/// ```swift
/// let name = try HostName("Bücher.example")
/// name.ascii                            // "xn--bcher-kva.example"
/// try HostName("::1").address           // the loopback address: no lookup needed
/// try HostName("user@host")             // throws .invalidName
/// ```
///
/// Only letters, digits and hyphens (RFC 952, RFC 1123 §2.1) and underscores, which are in common use, are valid, so no
/// user information, port or path of a URL can leak into a query. A label may begin or end with a hyphen: RFC 952 forbids it, but
/// hosting services give such names to their users, and browsers look them up (UTS 46, CheckHyphens=false); a label with other than
/// ASCII letters may not (RFC 5891 §4.2.3.1). A name whose last label is a number must be a
/// complete IPv4 address: `127.1` and `0x7f000001`, which older functions accept as addresses, are rejected.
public struct HostName: Hashable, Sendable {
    /// The longest ``ascii`` form, in bytes, without the final dot (RFC 1035 §2.3.4).
    public static let maximumNameLength = 253
    /// The longest label, in bytes (RFC 1035 §2.3.4).
    package static let maximumLabelLength = 63
    /// The longest input, in bytes, before conversion to ASCII.
    static let maximumTextLength = 1024

    /// The form for resolvers: ASCII, lower case, international labels as A-labels (RFC 5890 §2.3.2.1), without the
    /// final dot. The text form if the host is an address.
    public let ascii: String
    /// The address, if the text is an address and needs no lookup; otherwise nil.
    public let address: IPAddress?
    /// Whether the name ended with a dot, or is an address. No search domains are appended to such a name.
    public let isFullyQualified: Bool

    /// Parses a name or an address.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidName``;
    ///   ``ResolverError/Code-swift.struct/internationalNamesUnavailable`` for a name with non-ASCII letters if libidn2
    ///   is not installed.
    public init(_ text: String) throws(ResolverError) {
        if let address = IPAddress(text) {
            self.init(address)
            return
        }
        guard text.utf8.count <= Self.maximumTextLength else {
            throw ResolverError(.invalidName, name: text, detail: "longer than \(Self.maximumTextLength) bytes")
        }
        var name = text
        if !text.utf8.allSatisfy({ $0 < 0x80 }) {
            name = try InternationalName.ascii(of: text)
            if let address = IPAddress(name) {
                // Full-width digits and dots are an address only after conversion.
                self.init(address)
                return
            }
        }
        let isFullyQualified = name.utf8.last == UInt8(ascii: ".")
        if isFullyQualified { name.removeLast() }
        var hasCapitals = false
        if let fault = name.withUTF8({ Self.fault(in: $0, &hasCapitals) }) {
            throw ResolverError(.invalidName, name: text, detail: fault)
        }
        self.init(ascii: hasCapitals ? name.lowercased() : name, address: nil, isFullyQualified: isFullyQualified)
    }

    /// Creates the name form of an address.
    public init(_ address: IPAddress) {
        self.init(ascii: address.description, address: address, isFullyQualified: true)
    }

    private init(ascii: String, address: IPAddress?, isFullyQualified: Bool) {
        self.ascii = ascii
        self.address = address
        self.isFullyQualified = isFullyQualified
    }

    /// The labels of ``ascii``, the leftmost first; empty for an address.
    public var labels: [Substring] {
        address == nil ? ascii.utf8.split(separator: UInt8(ascii: ".")).map { Substring($0) } : []
    }
}

extension HostName: CustomStringConvertible {
    /// The ``ascii`` form, with the final dot if the input had one.
    public var description: String {
        address == nil && isFullyQualified ? ascii + "." : ascii
    }
}

extension HostName {
    /// The reason why an ASCII name, without its final dot, is invalid; nil if it is valid.
    private static func fault(in name: UnsafeBufferPointer<UInt8>, _ hasCapitals: inout Bool) -> String? {
        if name.isEmpty { return "empty" }
        if name.count > maximumNameLength { return "longer than \(maximumNameLength) bytes" }
        var label = name[...]
        while true {
            let end = label.firstIndex(of: UInt8(ascii: ".")) ?? name.endIndex
            label = label[..<end]
            if label.isEmpty { return "an empty label" }
            if label.count > maximumLabelLength { return "a label longer than \(maximumLabelLength) bytes" }
            for byte in label {
                if !isNameByte(byte) { return "a character that is not allowed in host names" }
                if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) { hasCapitals = true }
            }
            if end == name.endIndex { return isNumber(label) ? "a number that is not an IPv4 address" : nil }
            label = name[(end + 1)...]
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default:
            false
        }
    }

    /// Whether `inet_aton` would read the label as a decimal or hexadecimal number (WHATWG URL §3.5, "ends in a
    /// number").
    private static func isNumber(_ label: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let isDecimal = label.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let isHexadecimal =
            label.count >= 2 && label.first == UInt8(ascii: "0")
            && label[label.startIndex + 1] | 0x20 == UInt8(ascii: "x")
            && label.dropFirst(2).allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0 | 0x20)
            }
        return isDecimal || isHexadecimal
    }
}

extension HostName {
    /// Whether the name must not be sent to name servers: it is in `.invalid`, which never exists, or in `.onion`,
    /// which is private to Tor (RFC 6761 §6.4, RFC 7686 §2).
    var isNeverQueried: Bool {
        ascii.hasSuffix(".invalid") || ascii.hasSuffix(".onion") || ascii == "invalid" || ascii == "onion"
    }

    /// Whether the name is `localhost` or in `.localhost`, which stand for the loopback addresses of both families and are
    /// not sent to name servers (RFC 6761 §6.3).
    var isLocalhost: Bool { ascii == "localhost" || ascii.hasSuffix(".localhost") }

    /// The addresses of `localhost`, best first (RFC 6724 §2.1).
    static let loopback: [IPAddress] = [.v6(.loopback), .v4(.loopback)]
}

/// Conversion of names with non-ASCII letters to the ASCII form of the DNS (RFC 5891 §4, with the mapping of UTS 46).
///
/// Uses libidn2, loaded at run time. Its tables are large and change with Unicode; the library is on nearly every
/// machine, because glibc's own `AI_IDN` loads it too.
private enum InternationalName {
    /// `int idn2_to_ascii_8z(const char *, char **, int flags)`
    private typealias ToASCII =
        @convention(c) (
            UnsafePointer<CChar>, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, CInt
        ) -> CInt

    /// `IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL`, as in browsers: `ß` is not mapped to `ss`.
    private static let flags: CInt = 1 | 8

    private static let toASCII = LateValue<ToASCII?>(library: "libidn2.so.0") { library, _ in
        library.flatMap { dlsym($0, "idn2_to_ascii_8z") }.map { unsafeBitCast($0, to: ToASCII.self) }
    }

    static func ascii(of name: String) throws(ResolverError) -> String {
        guard !name.utf8.contains(0) else { throw ResolverError(.invalidName, name: name, detail: "a NUL byte") }
        guard let toASCII = toASCII.value else { throw ResolverError(.internationalNamesUnavailable, name: name) }
        // One label at a time: libidn2 would apply its rules for hyphens to labels that need no conversion.
        var labels: [String] = []
        for label in name.unicodeScalars.split(omittingEmptySubsequences: false, whereSeparator: isDot) {
            let text = String(label)
            if text.utf8.allSatisfy({ $0 < 0x80 }) {
                labels.append(text)
                continue
            }
            var converted: UnsafeMutablePointer<CChar>?
            let status = text.withCString { toASCII($0, &converted, flags) }
            defer { free(converted) }
            guard status == 0, let converted else {
                throw ResolverError(.invalidName, name: name, detail: "cannot be converted to ASCII (IDNA)")
            }
            labels.append(String(cString: converted))
        }
        return labels.joined(separator: ".")
    }

    /// Whether the character separates labels (UTS 46 §4.5): a full stop, also an ideographic or full-width one.
    private static func isDot(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case ".", "\u{3002}", "\u{FF0E}", "\u{FF61}": true
        default: false
        }
    }
}

extension DNSName {
    /// Creates the name of a host; nil for an address.
    public init?(_ host: HostName) {
        guard host.address == nil else { return nil }
        self.init(host.ascii)
    }
}
