/// The unencrypted part of a Kerberos token: its type, and the service of a ticket (RFC 4121 section 4.1).
public enum KerberosToken: Hashable, Sendable {
    /// The client's ticket (AP-REQ), with its service and realm.
    case request(service: String, realm: String)
    /// The server's proof (AP-REP).
    case reply
    /// The server's error (KRB-ERROR), with its code (RFC 4120 section 7.5.9) and text.
    case error(code: Int, text: String?)

    /// Decodes the GSSAPI frame's contents after the mechanism: a two-byte token type and the message.
    init(contents: ArraySlice<UInt8>) throws(HTTPAuthError) {
        var reader = DERReader(contents.dropFirst(2))
        switch Array(contents.prefix(2)) {
        case [1, 0]:
            var fields = DERReader(try reader.value(DERTag.application(14), "AP-REQ"))
            var request = DERReader(try fields.value(DERTag.sequence, "AP-REQ"))
            try request.skip(through: 2)
            var outer = DERReader(try request.value(DERTag.context(3), "the ticket"))
            var ticket = DERReader(try outer.value(DERTag.application(1), "the ticket"))
            var parts = DERReader(try ticket.value(DERTag.sequence, "the ticket"))
            try parts.skip(through: 0)
            let realm = try parts.optional(DERTag.context(1), DERTag.generalString, "the realm") ?? []
            let service = try parts.optional(DERTag.context(2), DERTag.sequence, "the service") ?? []
            self = .request(
                service: try KerberosToken.name(service), realm: String(decoding: realm, as: UTF8.self))
        case [2, 0]: self = .reply
        case [3, 0]:
            var fields = DERReader(try reader.value(DERTag.application(30), "KRB-ERROR"))
            var error = DERReader(try fields.value(DERTag.sequence, "KRB-ERROR"))
            try error.skip(through: 5)
            let code = try error.optional(DERTag.context(6), DERTag.integer, "the error code") ?? []
            try error.skip(through: 10)
            let text = try error.optional(DERTag.context(11), DERTag.generalString, "the error text")
            self = .error(
                code: code.prefix(4).reduce(0) { $0 << 8 | Int($1) },
                text: text.map { String(decoding: $0, as: UTF8.self) })
        default: throw .spnego("unknown Kerberos token type")
        }
    }

    /// Returns the components of a name, separated by slashes.
    private static func name(_ bytes: ArraySlice<UInt8>) throws(HTTPAuthError) -> String {
        var reader = DERReader(bytes)
        try reader.skip(through: 0)
        var list = DERReader(try reader.optional(DERTag.context(1), DERTag.sequence, "the name") ?? [])
        var parts: [String] = []
        while !list.isAtEnd {
            parts.append(String(decoding: try list.value(DERTag.generalString, "a name component"), as: UTF8.self))
        }
        return parts.joined(separator: "/")
    }
}

extension DERReader {
    /// Skips the context-tagged fields up to and including this number.
    mutating func skip(through number: UInt8) throws(HTTPAuthError) {
        while let tag = nextTag, tag & 0xe0 == 0xa0, tag <= DERTag.context(number) { _ = try value(tag, "a field") }
    }
}
