import NetDiag

enum NetDiagPage {
    static var stream: ReadStream { ReadStream(bytes: []) }
}
