"""The frozen records that cross folders, errors, settings and stopping."""
