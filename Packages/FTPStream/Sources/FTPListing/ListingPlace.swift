/// What a line of a listing is about.
public enum ListingPlace: Sendable, Hashable {
    /// Something in the listed directory.
    case inside
    /// The listed directory itself: `.`, or a type of `cdir`.
    case current
    /// The directory above: `..`, or a type of `pdir`.
    case parent

    init(_ name: [UInt8]) {
        let dot = UInt8(ascii: ".")
        self = name == [dot] ? .current : name == [dot, dot] ? .parent : .inside
    }
}
