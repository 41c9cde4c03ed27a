internal import FTPListing

extension FuzzTarget {
    /// Directory listings in every format.
    static let ftpListing = FuzzTarget(name: "ftp-listing") { bytes in
        var parser = ListingParser(ListingOptions(now: 1_700_000_000))
        var rest = bytes[...]
        do throws(ListingError) {
            while true {
                let line = Array(rest)
                let step = try parser.parse(line.span.bytes)
                if step.consumed == 0 { break }
                rest = rest.dropFirst(step.consumed)
                if let entry = step.entry { _ = "\(entry)" }
            }
            let line = Array(rest)
            if let entry = try parser.finish(line.span.bytes) { _ = "\(entry)" }
        } catch {
            _ = "\(error)"
        }
    }
}
