internal import HTTPStream

/// The conditional fields of a request (RFC 9110 §13), evaluated without I/O.
enum Preconditions {
    /// The state of the selected representation.
    struct Representation {
        let tag: EntityTag
        let lastModified: HTTPDate
    }

    enum Outcome: Hashable {
        /// The method is performed; `Range` counts only if `honoursRange` is true.
        case perform(honoursRange: Bool)
        case notModified
        case preconditionFailed
    }

    /// Evaluates the fields in the order of RFC 9110 §13.2.2.
    ///
    /// A malformed condition fails if it protects from a change (`If-Match`), and is ignored if it only saves a transfer.
    static func evaluate(
        _ method: HTTPMethod, _ fields: HTTPFields, _ representation: Representation, now: HTTPDate
    ) -> Outcome {
        let isRead = method == .get || method == .head
        if let value = fields[.ifMatch] {
            let tags = EntityTag.list(value) ?? []
            guard isAny(value) || tags.contains(where: representation.tag.isStronglyEqual) else {
                return .preconditionFailed
            }
        } else if let date = fields["If-Unmodified-Since"].flatMap({ HTTPDate($0, now: now) }),
            representation.lastModified > date
        {
            return .preconditionFailed
        }
        if let value = fields[.ifNoneMatch] {
            let tags = EntityTag.list(value) ?? []
            if isAny(value) || tags.contains(where: representation.tag.isWeaklyEqual) {
                return isRead ? .notModified : .preconditionFailed
            }
        } else if isRead, let date = fields[.ifModifiedSince].flatMap({ HTTPDate($0, now: now) }),
            representation.lastModified <= date
        {
            return .notModified
        }
        return .perform(honoursRange: method == .get && isCurrent(fields[.ifRange], representation, now: now))
    }

    private static func isAny(_ value: String) -> Bool { value == "*" }

    /// Whether `If-Range` names the representation (RFC 9110 §13.1.5): a date only if it equals exactly, and if the file was not
    /// changed within the last second, when another change could have the same date (§8.8.2.2).
    private static func isCurrent(_ ifRange: String?, _ representation: Representation, now: HTTPDate) -> Bool {
        guard let ifRange else { return true }
        if let date = HTTPDate(ifRange, now: now) {
            return date == representation.lastModified && date.secondsSinceEpoch < now.secondsSinceEpoch
        }
        let tags = EntityTag.list(ifRange) ?? []
        return tags.count == 1 && tags[0].isStronglyEqual(to: representation.tag)
    }
}
