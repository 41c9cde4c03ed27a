enum ReadmeOfFTPStream {
    static var password: String { "" }
    static var bytes: [UInt8] { [] }
}
