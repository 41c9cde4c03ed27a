/// What a parser must know that the listing does not say.
public struct ListingOptions: Sendable, Hashable {
    /// The time now, in seconds since 1970 UTC: a date without a year is of the last twelve months.
    public var now: Int64

    /// The format, if it is known. Nil (default): each line is tried as all but ``ListingFormat/names``.
    public var format: ListingFormat?

    /// How far the server's clock is ahead of UTC, in seconds; only used to guess years. Default 0.
    public var serverOffset: Int64 = 0

    /// How many seconds in the future a date without a year may be. Default one day: a server's zone is not known.
    public var futureTolerance: Int64 = 86_400

    /// The longest line, without its end, in bytes. Default 16 KiB; longer ones are an error.
    public var lineLimit = 16 * 1024

    /// Makes options for listings that are read at `now`, in seconds since 1970 UTC.
    public init(now: Int64, format: ListingFormat? = nil) {
        self.now = now
        self.format = format
    }
}
