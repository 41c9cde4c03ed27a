import FTPListing

enum FTPListingPage {
    static var listing: [UInt8] { [] }
    static var now: Int64 { 0 }
}
