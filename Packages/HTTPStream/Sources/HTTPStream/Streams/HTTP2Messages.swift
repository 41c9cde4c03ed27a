internal import HTTP2
internal import HTTPMessage

extension HTTP2Limits {
    /// The limits of a connection whose heads have the limits that they have in HTTP/1.1.
    init(of limits: HTTPLimits) {
        self.init()
        // A field takes two bytes in HTTP/1.1 for each 32 in the list of HTTP/2 (RFC 9113 §6.5.2).
        let fieldCount = min(max(limits.fieldCount, 1), 1 << 16)
        fieldSection.fieldCount = fieldCount
        fieldSection.listSize = min(max(limits.headLength, 0), 1 << 28) + 32 * fieldCount
    }
}

extension HTTPFields {
    /// Removes the fields that belong to a connection of HTTP/1.1, which HTTP/2 does not have (RFC 9113 §8.2.2).
    mutating func removeConnectionFields() {
        for name in HTTPFields.connectionFields { remove(name) }
    }

    private static let connectionFields: [HTTPFieldName] = [
        .connection, .transferEncoding, "Keep-Alive", .proxyConnection, .upgrade,
    ]
}
