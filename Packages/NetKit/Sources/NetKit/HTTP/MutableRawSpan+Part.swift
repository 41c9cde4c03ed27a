extension MutableRawSpan {
    /// Runs `body` with a part of the memory.
    mutating func withPart<Result, Failure: Error>(
        _ range: Range<Int>, _ body: (inout MutableRawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The standard library's name for it in Swift 6.3; the one without underscore is deprecated there.
        var part = _mutatingExtracting(range)
        return try body(&part)
    }
}
