public import NetKit

extension CFNetworkGuide {
    /// Diagnosis.
    public enum Chapter6 {
        /// 6-1: when an error occurs, explains it to the user, then reports it and closes the stream.
        ///
        /// The diagnosis does not change the stream's error. Unlike the guide's listing, this one also returns the findings.
        public static func listing1(
            _ stream: ReadStream, _ event: StreamEvent, presenter: any DiagnosisPresenter,
            report: (StreamError?) -> Void
        ) -> Task<Diagnosis, Never>? {
            guard event == .errorOccurred else { return nil }
            let diagnosis = NetDiagnostic(read: stream, write: nil).diagnoseInteractively(with: presenter)
            report(stream.error)
            stream.close()
            return diagnosis
        }
    }
}
