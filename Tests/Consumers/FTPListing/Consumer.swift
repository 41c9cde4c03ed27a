import FTPListing

/// Reads a listing of three servers' lines, and prints what is in it.
@main struct Consumer {
    static func main() throws {
        let listing = """
            -rw-r--r--   1 ann      staff        12 Mar  4  2019 notes.txt
            05-26-95  10:57AM       <DIR>          old files
            type=file;size=5;modify=20240102030405; new

            """
        for entry in try ListingParser.entries(of: Array(listing.utf8), ListingOptions(now: 1_700_000_000)) {
            print(entry.name, entry.kind, entry.size ?? 0, entry.date?.year ?? 0, separator: ",", terminator: " ")
        }
    }
}
