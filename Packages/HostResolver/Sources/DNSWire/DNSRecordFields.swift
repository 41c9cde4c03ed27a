internal import IPAddresses

/// One field of a record's data, such as the preference of an MX record.
///
/// ```swift
/// for field in record.data.fields { print(field.name, field.presentation) }    // preference 10, exchange mail.example.org.
/// ```
public struct DNSRecordField: Hashable, Sendable {
    /// The value of a field.
    public enum Value: Hashable, Sendable {
        /// A number.
        case number(UInt32)
        /// A text, a name, an address, or bytes in hexadecimal.
        case text(String)
        /// Several texts.
        case texts([String])
    }

    /// The name in the RFC of the record type, such as `preference`, `exchange` or `keyTag`.
    public let name: String
    /// The value, with texts as they are.
    public let value: Value
    /// The value as a zone file contains it: with quotation marks and escapes (RFC 1035 §5.1).
    public let presentation: String

    fileprivate init(_ name: String, _ number: some FixedWidthInteger & UnsignedInteger) {
        self.init(name, .number(UInt32(number)), "\(number)")
    }

    fileprivate init(_ name: String, _ text: String) { self.init(name, .text(text), text) }

    fileprivate init(_ name: String, _ value: Value, _ presentation: String) {
        self.name = name
        self.value = value
        self.presentation = presentation
    }
}

extension DNSRecordData {
    /// The data as a zone file contains them, such as `10 mail.example.org.` (RFC 1035 §5.1).
    ///
    /// Data of a type without a format of its own, and data that do not have the format of their type, are written like
    /// `\# 4 0a000001` (RFC 3597 §5).
    public var presentation: String { fields.map(\.presentation).joined(separator: " ") }

    /// The fields of the data, in their order.
    ///
    /// Those of A, AAAA, CNAME, NS, PTR, MX, TXT, SRV, SOA and NSEC, and of types that are kept as bytes: CAA (RFC 8659), DS
    /// (RFC 4034), TLSA (RFC 6698), NAPTR (RFC 3403), and SVCB and HTTPS (RFC 9460). Other data are one field, `data`.
    public var fields: [DNSRecordField] {
        switch self {
        case .a(let address): [DNSRecordField("address", "\(address)")]
        case .aaaa(let address): [DNSRecordField("address", "\(address)")]
        case .cname(let name), .ns(let name), .ptr(let name): [DNSRecordField("name", "\(name)")]
        case .mx(let preference, let exchange):
            [DNSRecordField("preference", preference), DNSRecordField("exchange", "\(exchange)")]
        case .txt(let strings):
            [
                DNSRecordField(
                    "texts", .texts(strings.map { String(decoding: $0, as: UTF8.self) }),
                    strings.map(Self.quoted).joined(separator: " "))
            ]
        case .srv(let priority, let weight, let port, let target):
            [
                DNSRecordField("priority", priority), DNSRecordField("weight", weight), DNSRecordField("port", port),
                DNSRecordField("target", "\(target)"),
            ]
        case .soa(let start):
            [
                DNSRecordField("primary", "\(start.primary)"), DNSRecordField("mailbox", "\(start.mailbox)"),
                DNSRecordField("serial", start.serial), DNSRecordField("refresh", start.refresh),
                DNSRecordField("retry", start.retry), DNSRecordField("expire", start.expire),
                DNSRecordField("minimum", start.minimum),
            ]
        case .nsec(let next, let types):
            [
                DNSRecordField("next", "\(next)"),
                DNSRecordField(
                    "types", .texts(types.map(\.description)), types.map(\.description).joined(separator: " ")),
            ]
        case .other(let type, let bytes): Self.fields(of: type, bytes) ?? [Self.generic(bytes)]
        }
    }

    private static func generic(_ bytes: [UInt8]) -> DNSRecordField {
        let text = hexadecimal(bytes)
        return DNSRecordField("data", .text(text), "\\# \(bytes.count)" + (bytes.isEmpty ? "" : " \(text)"))
    }

    /// The fields of bytes of a type; nil if the type is not known, or the bytes do not have its format.
    private static func fields(of type: DNSRecordType, _ bytes: [UInt8]) -> [DNSRecordField]? {
        var reader = FieldReader(bytes)
        let fields: [DNSRecordField]? =
            switch type {
            case .caa: certificationAuthority(&reader)
            case .ds: delegationSigner(&reader)
            case .tlsa: certificateAssociation(&reader)
            case .naptr: namingAuthorityPointer(&reader)
            case .svcb, .https: serviceBinding(&reader)
            default: nil
            }
        return reader.isAtEnd ? fields : nil
    }

    /// RFC 8659 §4.1.
    private static func certificationAuthority(_ reader: inout FieldReader) -> [DNSRecordField]? {
        guard let flags = reader.byte(), let tag = reader.string(), !tag.isEmpty,
            tag.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) })
        else { return nil }
        let value = reader.rest()
        return [
            DNSRecordField("flags", flags), DNSRecordField("tag", String(decoding: tag, as: UTF8.self)),
            DNSRecordField("value", .text(String(decoding: value, as: UTF8.self)), quoted(value)),
        ]
    }

    /// RFC 4034 §5.1.
    private static func delegationSigner(_ reader: inout FieldReader) -> [DNSRecordField]? {
        guard let tag = reader.number(), let algorithm = reader.byte(), let type = reader.byte() else { return nil }
        return [
            DNSRecordField("keyTag", tag), DNSRecordField("algorithm", algorithm), DNSRecordField("digestType", type),
            DNSRecordField("digest", hexadecimal(reader.rest())),
        ]
    }

    /// RFC 6698 §2.1.
    private static func certificateAssociation(_ reader: inout FieldReader) -> [DNSRecordField]? {
        guard let usage = reader.byte(), let selector = reader.byte(), let matching = reader.byte() else { return nil }
        return [
            DNSRecordField("usage", usage), DNSRecordField("selector", selector),
            DNSRecordField("matchingType", matching), DNSRecordField("data", hexadecimal(reader.rest())),
        ]
    }

    /// RFC 3403 §4.1.
    private static func namingAuthorityPointer(_ reader: inout FieldReader) -> [DNSRecordField]? {
        guard let order = reader.number(), let preference = reader.number(), let flags = reader.string(),
            let services = reader.string(), let expression = reader.string(), let replacement = reader.name()
        else { return nil }
        let texts = [("flags", flags), ("services", services), ("regexp", expression)].map {
            DNSRecordField($0.0, .text(String(decoding: $0.1, as: UTF8.self)), quoted($0.1))
        }
        return [DNSRecordField("order", order), DNSRecordField("preference", preference)] + texts
            + [DNSRecordField("replacement", "\(replacement)")]
    }

    /// RFC 9460 §2.2.
    private static func serviceBinding(_ reader: inout FieldReader) -> [DNSRecordField]? {
        guard let priority = reader.number(), let target = reader.name() else { return nil }
        var parameters: [String] = []
        var last = -1
        while !reader.isAtEnd {
            guard let key = reader.number(), Int(key) > last, let length = reader.number(),
                let value = reader.bytes(Int(length)), let text = parameter(key, value)
            else { return nil }
            last = Int(key)
            parameters.append(text)
        }
        let fields = [DNSRecordField("priority", priority), DNSRecordField("target", "\(target)")]
        if parameters.isEmpty { return fields }
        return fields + [DNSRecordField("parameters", .texts(parameters), parameters.joined(separator: " "))]
    }

    /// A parameter as text, such as `alpn=h2,h3`; nil if its value does not have the format of its key (RFC 9460 §7).
    private static func parameter(_ key: UInt16, _ value: [UInt8]) -> String? {
        var reader = FieldReader(value)
        switch key {
        case 0:
            var keys: [String] = []
            while let key = reader.number() { keys.append(parameterName(key)) }
            return reader.isAtEnd && !keys.isEmpty ? "mandatory=\(keys.joined(separator: ","))" : nil
        case 1:
            var names: [String] = []
            while let name = reader.string() { names.append(protocolName(name)) }
            return reader.isAtEnd && !names.isEmpty ? "alpn=\(names.joined(separator: ","))" : nil
        case 2: return value.isEmpty ? "no-default-alpn" : nil
        case 3: return reader.number().flatMap { reader.isAtEnd ? "port=\($0)" : nil }
        case 4, 6:
            let size = key == 4 ? 4 : 16
            guard !value.isEmpty, value.count % size == 0 else { return nil }
            let addresses = stride(from: 0, to: value.count, by: size).map { start -> String in
                let number = value[start..<start + size].reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
                return size == 4
                    ? "\(IPv4Address(rawValue: UInt32(number)))" : "\(IPv6Address(rawValue: number))"
            }
            return "\(parameterName(key))=\(addresses.joined(separator: ","))"
        default:
            return value.isEmpty ? parameterName(key) : "\(parameterName(key))=\(quoted(value))"
        }
    }

    /// A name in the list of `alpn`: a comma and a backslash are escaped for the list, and the result as any text (RFC 9460 §A.1).
    private static func protocolName(_ name: [UInt8]) -> String {
        let backslash = UInt8(ascii: "\\")
        let item = name.flatMap { $0 == backslash || $0 == UInt8(ascii: ",") ? [backslash, $0] : [$0] }
        return escaped(item, also: "\\\" ;()")
    }

    private static func parameterName(_ key: UInt16) -> String {
        let names = ["mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint"]
        return key < names.count ? names[Int(key)] : "key\(key)"
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// A character string in quotation marks (RFC 1035 §5.1).
    private static func quoted(_ bytes: [UInt8]) -> String { "\"\(escaped(bytes, also: "\"\\"))\"" }

    /// Printable ASCII as it is, and other bytes as `\DDD`. A backslash precedes the given characters.
    private static func escaped(_ bytes: [UInt8], also characters: String) -> String {
        bytes.map { byte in
            guard (0x20..<0x7F).contains(byte) else {
                let digits = String(byte)
                return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
            }
            let character = Character(UnicodeScalar(byte))
            return (characters.contains(character) ? "\\" : "") + String(character)
        }.joined()
    }
}

/// Reads the fields of data from untrusted bytes. Each call returns nil if too few bytes are left.
private struct FieldReader {
    private var remaining: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { remaining = bytes[...] }

    var isAtEnd: Bool { remaining.isEmpty }

    mutating func byte() -> UInt8? { remaining.popFirst() }

    mutating func number() -> UInt16? { bytes(2).map { UInt16($0[0]) << 8 | UInt16($0[1]) } }

    mutating func bytes(_ count: Int) -> [UInt8]? {
        guard remaining.count >= count else { return nil }
        defer { remaining = remaining.dropFirst(count) }
        return Array(remaining.prefix(count))
    }

    /// A character string with its length before it.
    mutating func string() -> [UInt8]? {
        guard let length = remaining.first, remaining.count > Int(length) else { return nil }
        remaining = remaining.dropFirst()
        return bytes(Int(length))
    }

    /// A name that is not compressed.
    mutating func name() -> DNSName? {
        var labels: [[UInt8]] = []
        while let label = string() {
            if label.isEmpty { return DNSName(labels: labels) }
            guard label.count < 64 else { return nil }
            labels.append(label)
        }
        return nil
    }

    mutating func rest() -> [UInt8] {
        defer { remaining = [] }
        return Array(remaining)
    }
}
