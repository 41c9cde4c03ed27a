import StreamKitTesting

enum StreamKitTestingPage {
    static func myPipe() async throws -> BytePipe { preconditionFailure("only compiled") }
}
