/// Why a listing cannot be read on. A line that is not understood is no error: it is passed over.
public enum ListingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A line is longer than ``ListingOptions/lineLimit``, in bytes.
    case lineTooLong(limit: Int)

    /// A sentence for people.
    public var description: String {
        switch self {
        case .lineTooLong(let limit):
            "A line of the listing has more than \(limit) bytes, so it is not a directory listing."
        }
    }
}
